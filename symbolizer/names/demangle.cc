#include "symbolizer/names/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <csetjmp>

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

struct Demangler {
  int (*demangle)(const char* mangled, int options, demangle_callbackref callback, void* opaque);
  int options;
};

constexpr std::array<Demangler, 2> kDemanglers{{
    // Old Rust names are valid C++ as well, with a hash: Rust's own demangler goes first, and takes no others.
    {&rust_demangle_callback, DMGL_PARAMS | DMGL_ANSI},
    // Its limit on recursion refuses every name beyond 1 KiB, which templates reach: kMaxMangledBytes bounds it instead.
    {&cplus_demangle_v3_callback, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT},
}};

// What the demangler makes of `name`, in `output`; false where that is no name of its language, or too much.
bool demangle(const Demangler& demangler, const char* name, Output& output) {
  output.size = 0;
  // NOLINTNEXTLINE(cert-err52-cpp): as above.
  if (setjmp(output.too_long) != 0) {
    return false;
  }
  return demangler.demangle(name, demangler.options, &append, &output) != 0 && output.size != 0;
}

}  // namespace

std::string display_name(std::string_view linkage_name) {
  std::string name(linkage_name.substr(0, linkage_name.find('@')));
  const bool may_be_mangled = name.starts_with("_Z") || name.starts_with("_R");
  if (!may_be_mangled || name.size() > kMaxMangledBytes) {
    return name;
  }
  Output output;
  for (const Demangler& demangler : kDemanglers) {
    if (demangle(demangler, name.c_str(), output)) {
      return {output.text.data(), output.size};
    }
  }
  return name;
}

}  // namespace plimsoll::symbolizer
