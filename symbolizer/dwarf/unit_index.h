// Address -> the unit of DWARF that describes it, from the units' own ranges. Not from .debug_aranges, on which libdw
// stands and which clang does not write.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"
#include "symbolizer/dwarf/unit_tree.h"

namespace plimsoll::symbolizer {

struct DwarfUnit {
  uint64_t die_offset;  // in .debug_info
  uint64_t bytes;       // in .debug_info
  // The functions of a skeleton stand in another file (-gsplit-dwarf), which is not read: only its lines are here.
  bool is_skeleton;
};

// Immutable. Outlives the Dwarf it was built from.
class UnitIndex {
 public:
  // Reads the first entry of every unit, up to 20 million ranges, and leaves a damaged rest out. Ranges that begin in none of the executable
  // `segments` are left out: linkers leave those of functions that they dropped at address 0.
  static UnitIndex build(Dwarf* dwarf, const std::vector<elf::Segment>& segments);

  // An index into units().
  std::optional<uint32_t> unit_of(uint64_t address) const;
  const std::vector<DwarfUnit>& units() const { return units_; }
  bool has_functions() const;
  uint64_t memory_bytes() const;

 private:
  struct Range {
    uint64_t from;
    uint64_t to;
    uint32_t unit;
  };
  void add_ranges(Dwarf_Die& unit, const std::vector<elf::Segment>& segments, ReadBudget& budget);

  std::vector<DwarfUnit> units_;  // in the file's order
  std::vector<Range> ranges_;     // by `from`
};

}  // namespace plimsoll::symbolizer
