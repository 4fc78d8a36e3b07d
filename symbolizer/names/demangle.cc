#include "symbolizer/names/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <utility>

#include "symbolizer/names/clone_suffixes.h"
#include "symbolizer/names/component_size.h"
#include "symbolizer/names/template_arguments.h"

namespace plimsoll::symbolizer {
namespace {

constexpr size_t kMaxMangledBytes = 4096;
constexpr size_t kMaxDisplayBytes = size_t{16} << 10;

// Collects what the demangler writes, within a bound. Substitutions let a name of a hundred bytes stand for a text of
// terabytes, and the demanglers know no way to stop but to leave them: hence the jump. They are C, allocate on the stack
// (the one for Rust also the letters of a Unicode identifier), and have nothing to clean up.
struct Output {
  std::array<char, kMaxDisplayBytes> text;
  size_t size;
  std::jmp_buf too_long;
};

void append(const char* part, size_t size, void* opaque) {
  auto& output = *static_cast<Output*>(opaque);
  if (size > output.text.size() - output.size) {
    // NOLINTNEXTLINE(cert-err52-cpp): no object with a destructor stands between here and setjmp().
    std::longjmp(output.too_long, 1);
  }
  std::copy_n(part, size, output.text.begin() + static_cast<std::ptrdiff_t>(output.size));
  output.size += size;
}

// What `write` tells append(), in `output`; false where it fails, or writes too much.
template <typename Write>
bool collect(Output& output, Write write) {
  output.size = 0;
  // NOLINTNEXTLINE(cert-err52-cpp): as above.
  if (setjmp(output.too_long) != 0) {
    return false;
  }
  return write() != 0 && output.size != 0;
}

constexpr int kOptions = DMGL_PARAMS | DMGL_ANSI;

bool demangle_rust(const char* name, Output& output) {
  return collect(output, [&] { return ::rust_demangle_callback(name, kOptions, &append, &output); });
}

bool demangle_cpp(const char* name, Output& output) {
  // Its limit on recursion refuses every name beyond 1 KiB, which templates reach: kMaxMangledBytes bounds it instead.
  constexpr int kCppOptions = kOptions | DMGL_NO_RECURSE_LIMIT;
  void* memory = nullptr;
  demangle_component* const tree = ::cplus_demangle_v3_components(name, kCppOptions, &memory);
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): the library's contract.
  const std::unique_ptr<void, decltype(&std::free)> owner(memory, &std::free);
  if (tree == nullptr || !is_printable(*tree)) {
    return false;
  }
  return collect(output,
                 [&] { return ::cplus_demangle_print_callback(kCppOptions, tree, &append, &output); });
}

std::string_view without_version(std::string_view name) {
  const size_t at = name.find('@');
  return at == 0 ? name : name.substr(0, at);
}

// `clone` is what the name ends in.
std::string demangled(std::string_view linkage_name, std::string_view clone) {
  std::string name(linkage_name);
  if (!is_mangled(name) || name.size() > kMaxMangledBytes) {
    return name;
  }
  Output output;
  // Old Rust names are valid C++ as well, with a hash: Rust's own demangler goes first, and takes no others. It drops some
  // suffixes, and takes no name with others.
  const std::string without_clone = name.substr(0, name.size() - clone.size());
  if (demangle_rust(without_clone.c_str(), output)) {
    const std::string text(output.text.data(), output.size);
    return clone.empty() ? text : text + " [clone " + std::string(clone) + "]";
  }
  return demangle_cpp(name.c_str(), output) ? std::string(output.text.data(), output.size) : name;
}

}  // namespace

bool is_mangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R");
}

std::string display_name(std::string_view linkage_name, const NameForm& form) {
  const std::string_view linked = form.demangle ? without_version(linkage_name) : linkage_name;
  const std::string_view folded = without_clone_suffixes(linked);
  const std::string_view chosen = form.fold_clones ? folded : linked;
  std::string name = form.demangle ? demangled(chosen, chosen.substr(folded.size())) : std::string(chosen);
  return form.shorten_templates ? shorten_template_arguments(name) : std::move(name);
}

}  // namespace plimsoll::symbolizer
