// Linkage names as people read them.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// The display name of a linkage name: C++ (Itanium) demangled, a symbol version ("@@GLIBC_2.34") removed; anything else
// as it is.
std::string display_name(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
