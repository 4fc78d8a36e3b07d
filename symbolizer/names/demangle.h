// Linkage names as people read them.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// The display name of a linkage name: C++ (Itanium) and Rust (_R..., and _ZN...17h<hash>E without the hash) demangled, a
// symbol version ("@@GLIBC_2.34") removed; anything else as it is.
//
// Names come from outside: those that are too long, nest too deeply, or stand for more text than anybody reads stay as
// they are. Any thread.
std::string display_name(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
