// Linkage names of constructors and destructors.
#pragma once

#include <string_view>

namespace plimsoll::symbolizer {

// Whether `base` is the constructor or destructor of a base object (C2, D2) where `complete` is that of a complete one (C1, D1). The latter mostly
// are other symbols for the former, which alone exist while a compiler optimizes: DWARF and profiles name these.
bool is_same_member(std::string_view complete, std::string_view base);

}  // namespace plimsoll::symbolizer
