// Lists of address ranges: .debug_ranges (DWARF 3 and 4, 2.17.3) and .debug_rnglists (DWARF 5, 2.17.3 and 7.25).
#pragma once

#include <cstdint>
#include <vector>

#include "symbolizer/dwarf/attributes.h"

namespace plimsoll::symbolizer {

struct AddressRange {
  uint64_t from;
  uint64_t to;
};

// Appends the ranges of the list that DW_AT_ranges names, without empty ones; at most `budget` entries of lists are read, and
// taken from it. False where the list is damaged or the budget is gone: what was read is appended.
bool read_ranges(const AttributeValue& list, const Unit& unit, uint64_t& budget,
                 std::vector<AddressRange>& ranges);

}  // namespace plimsoll::symbolizer
