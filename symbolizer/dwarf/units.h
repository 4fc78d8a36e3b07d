// The units of .debug_info: headers (DWARF 5, 7.5.1), and what the forms of their attributes refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "symbolizer/dwarf/abbreviations.h"
#include "symbolizer/dwarf/sections.h"

namespace plimsoll::symbolizer {

// In place of a length of 4 bytes: the length follows in 8, and so do the offsets (DWARF 5, 7.4).
inline constexpr uint32_t k64BitMark = 0xffffffff;

struct UnitHeader {
  uint64_t offset = 0;         // of the header, in .debug_info
  uint64_t entries_begin = 0;  // of the unit's own entry
  uint64_t end = 0;
  uint64_t abbreviations = 0;  // in .debug_abbrev
  uint64_t dwo_id = 0;         // of skeletons and split units since DWARF 5; 0: none
  uint16_t version = 0;        // 2 to 5
  uint8_t kind = 0;            // DW_UT_*; before DWARF 5 DW_UT_compile
  uint8_t address_bytes = 0;   // 4 or 8
  uint8_t offset_bytes = 0;    // 4, or 8 in 64-bit DWARF
};

// All headers, in the section's order. A damaged one ends the list, as the start of the next is unknown: `damage` then
// says so, and is empty otherwise. Units whose version is unknown are left out.
std::vector<UnitHeader> read_unit_headers(Bytes info, std::string& damage);

// Where a unit's parts of the other sections begin: as its own entry says, or, in split DWARF, the package's index.
struct UnitBases {
  uint64_t str_offsets = 0;
  uint64_t addr = 0;
  uint64_t rnglists = 0;
  uint64_t ranges = 0;
  uint64_t split_ranges = 0;  // DW_AT_GNU_ranges_base of a skeleton: its other half's, not its own
  uint64_t line = 0;          // of a package: added to DW_AT_stmt_list
};

// One unit with all that its attributes need. Borrows everything.
struct Unit {
  const UnitHeader* header = nullptr;
  const DwarfSections* sections = nullptr;
  const DwarfSections* supplement = nullptr;  // dwz; null: none
  // Of the skeleton, for split DWARF, whose addresses are there; else the same as `sections`.
  const DwarfSections* address_sections = nullptr;
  const AbbreviationTable* abbreviations = nullptr;
  UnitBases bases;
  uint64_t low_pc = 0;  // base of its range lists
};

// The tables that units share. One thread.
class AbbreviationTables {
 public:
  explicit AbbreviationTables(Bytes section) : section_(section) {}
  // Valid as long as this.
  Result<const AbbreviationTable*> at(uint64_t offset);

 private:
  Bytes section_;
  std::unordered_map<uint64_t, std::unique_ptr<AbbreviationTable>> by_offset_;
};

}  // namespace plimsoll::symbolizer
