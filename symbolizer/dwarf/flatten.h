// Which scope and which line each address of a unit has, from ranges that lie within one another and rows that follow one
// another.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "symbolizer/dwarf/line_table.h"
#include "symbolizer/dwarf/unit_code.h"

namespace plimsoll::symbolizer {

inline constexpr uint32_t kNoLine = UINT32_MAX;

// Holds up to the next one's address.
struct CodeRow {
  uint64_t from;
  uint32_t scope;  // kNoScope: in none
  uint32_t line;   // a row of the line table; kNoLine: none
};

// By address; a row with neither scope nor line ends what was said before. Where ranges overlap without one being within the
// other, the one that starts later holds, and of those that start together the shortest, then the last.
// Ranges and sequences of which `is_code(from)` is false are left out: linkers leave those of functions that they dropped at
// some address that is none.
std::vector<CodeRow> flatten(std::vector<ScopeRange> ranges, const LineTable* lines,
                             const std::function<bool(uint64_t from)>& is_code);

// What of the rows lies within the ranges, in any order; without ranges all of them. A unit's line table may go on behind its
// code, where the linker filled up.
std::vector<CodeRow> clip(const std::vector<CodeRow>& rows, std::vector<AddressRange> ranges);

}  // namespace plimsoll::symbolizer
