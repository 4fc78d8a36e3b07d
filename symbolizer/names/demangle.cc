#include "symbolizer/names/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "symbolizer/names/characters.h"
#include "symbolizer/names/clone_suffixes.h"
#include "symbolizer/names/component_size.h"
#include "symbolizer/names/cpp_names.h"
#include "symbolizer/names/d_names.h"
#include "symbolizer/names/ocaml_names.h"
#include "symbolizer/names/swift_names.h"
#include "symbolizer/names/symbol_version.h"
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

// `has_packs`: those of in_older_mangling().
bool demangle_older_cpp(const char* name, bool has_packs, Output& output) {
  // Its limit on recursion refuses every name beyond 1 KiB, which templates reach: kMaxMangledBytes bounds it instead.
  constexpr int kCppOptions = kOptions | DMGL_NO_RECURSE_LIMIT;
  void* memory = nullptr;
  demangle_component* const tree = ::cplus_demangle_v3_components(name, kCppOptions, &memory);
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): the library's contract.
  const std::unique_ptr<void, decltype(&std::free)> owner(memory, &std::free);
  if (tree == nullptr) {
    return false;
  }
  if (has_packs) {
    without_declarations(*tree);
  }
  if (!is_printable(*tree)) {
    return false;
  }
  return collect(output,
                 [&] { return ::cplus_demangle_print_callback(kCppOptions, tree, &append, &output); });
}

// Whether libiberty may take it for another name than it is: see CppWalk::unresolved_name().
bool is_ambiguous(std::string_view name) {
  for (size_t at = name.find("sr"); at != std::string_view::npos; at = name.find("sr", at + 1)) {
    if (at + 2 < name.size() && is_digit(name[at + 2])) {
      return true;
    }
  }
  return false;
}

bool demangle_cpp(const std::string& name, Output& output) {
  const bool may_be_misread = is_ambiguous(name);
  if (!may_be_misread && demangle_older_cpp(name.c_str(), false, output)) {
    return true;
  }
  const auto older = in_older_mangling(name);
  if (older && demangle_older_cpp(older->c_str(), true, output)) {
    return true;
  }
  return may_be_misread && demangle_older_cpp(name.c_str(), false, output);
}

// C++ and Rust.
bool is_of_libiberty(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R");
}

std::string with_clone(const std::string& text, std::string_view clone) {
  return clone.empty() ? text : text + " [clone " + std::string(clone) + "]";
}

// Of languages that libiberty does not read, or not within bounds.
std::optional<std::string> name_of_others(std::string_view linkage_name) {
  if (linkage_name.starts_with("_D")) {
    return d_name(linkage_name);
  }
  return linkage_name.starts_with("caml") ? ocaml_name(linkage_name) : swift_name(linkage_name);
}

// `clone` is what the name ends in.
std::string demangled(std::string_view linkage_name, std::string_view clone) {
  std::string name(linkage_name);
  if (name.size() > kMaxMangledBytes) {
    return name;
  }
  if (!is_of_libiberty(name)) {
    const auto text = name_of_others(linkage_name.substr(0, linkage_name.size() - clone.size()));
    return text ? with_clone(*text, clone) : name;
  }
  Output output;
  // Old Rust names are valid C++ as well, with a hash: Rust's own demangler goes first, and takes no others. It drops some
  // suffixes, and takes no name with others.
  const std::string without_clone = name.substr(0, name.size() - clone.size());
  if (demangle_rust(without_clone.c_str(), output)) {
    return with_clone({output.text.data(), output.size}, clone);
  }
  return demangle_cpp(name, output) ? std::string(output.text.data(), output.size) : name;
}

// Of a name without a version.
std::string shown(std::string_view linked, const NameForm& form) {
  const std::string_view folded = without_clone_suffixes(linked);
  const std::string_view chosen = form.fold_clones ? folded : linked;
  return form.demangle ? demangled(chosen, chosen.substr(folded.size())) : std::string(chosen);
}

}  // namespace

std::string display_name(std::string_view linkage_name, const NameForm& form) {
  constexpr std::string_view kStub = "@plt";
  std::string name;
  if (!form.demangle) {
    name = shown(linkage_name, form);
  } else if (linkage_name.size() > kStub.size() && linkage_name.ends_with(kStub)) {
    name = shown(linkage_name.substr(0, linkage_name.size() - kStub.size()), form).append(kStub);
  } else {
    const VersionedName versioned = split_version(linkage_name);
    name = shown(std::string(versioned.name).append(versioned.clones), form);
  }
  return form.shorten_templates ? shorten_template_arguments(name) : std::move(name);
}

bool is_mangled(std::string_view name) {
  return is_of_libiberty(name) || name_of_others(name).has_value();
}

}  // namespace plimsoll::symbolizer
