// What it would cost libiberty to print a C++ name that it has parsed.
#pragma once

#include <libiberty/demangle.h>

#include <array>

namespace plimsoll::symbolizer {

// What a component refers to; null where there is less.
using ComponentChildren = std::array<const demangle_component*, 2>;
ComponentChildren children_of(const demangle_component& component);

// False for a name that is not worth its risks: its components, each counted as often as a substitution refers to it,
// are too many to walk, or its templates would take too much of the stack. Takes time in proportion to the components
// that there are. The tree is one of cplus_demangle_v3_components().
bool is_printable(const demangle_component& tree);

}  // namespace plimsoll::symbolizer
