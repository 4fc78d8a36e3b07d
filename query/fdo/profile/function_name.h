// The names by which compilers look up functions in a profile.
#pragma once

#include <string_view>

#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// What the function was called when it was compiled, before parts were split off and clones were made: without .llvm.123, .part.0,
// .constprop.0, .isra.0, .cold, .cold.1 and the like at its end. Names of local functions keep what makes them unique (.__uniq.123), as clang's
// "selected" policy has it. A part of the argument.
std::string_view name_when_compiled(std::string_view linkage_name);

// That name without what differs between builds of the same source: .__uniq.123 of local functions, which is a hash of the file's
// path, and the hash at the end of Rust's names (17h and 16 digits). For finding a function of another build, not for a profile.
std::string_view stable_name(std::string_view linkage_name);

// True of code that was split off a function (f.cold, f.part.0): it is entered from the rest of the function, which is no call of it.
bool is_part_of_function(std::string_view linkage_name);

// The same of a frame. Where a constructor or destructor of a complete object (C1, D1) is an alias of the one of base objects
// (C2, D2), compilers only have the latter.
std::string_view profile_name(const symbolizer::SymtabFrame& frame);

// The formats of profiles have no way to write other names: empty, with spaces or control characters, or with a digit or mark in front.
bool can_stand_in_profile(std::string_view name);

}  // namespace plimsoll::fdo
