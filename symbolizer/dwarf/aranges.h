// .debug_aranges: which addresses each unit has code at (DWARF 2 to 5, 6.1.2). Where a unit's own entry tells only
// the first piece of its code (DWARF 2 has no lists of ranges), the others stand here alone.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/byte_reader.h"
#include "symbolizer/dwarf/ranges.h"

namespace plimsoll::symbolizer {

// By the unit's offset in .debug_info, without empty ranges. A damaged set is left out with those behind it, since
// the start of the next is unknown; at most `budget` entries are read, and taken from it.
std::unordered_map<uint64_t, std::vector<AddressRange>> read_aranges(Bytes section, uint64_t& budget);

}  // namespace plimsoll::symbolizer
