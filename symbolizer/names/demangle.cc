#include "symbolizer/names/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace plimsoll::symbolizer {
namespace {

// The demangler's recursion and output grow with the name; longer ones are shown as they are.
constexpr size_t kMaxMangledBytes = 4096;

}  // namespace

std::string display_name(std::string_view linkage_name) {
  std::string name(linkage_name.substr(0, linkage_name.find('@')));
  if (!name.starts_with("_Z") || name.size() > kMaxMangledBytes) {
    return name;
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(demangled.get()) : name;
}

}  // namespace plimsoll::symbolizer
