#include "symbolizer/dwarf/unit_index.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <tuple>

namespace plimsoll::symbolizer {
namespace {

constexpr size_t kMaxUnits = 4'000'000;
constexpr uint64_t kMaxRanges = 20'000'000;  // read, whether or not they are kept

// Ranges of sound files do not overlap; in damaged ones the search for one that holds the address ends here.
constexpr int kMaxOverlapping = 16;

bool is_code(uint64_t address, const std::vector<elf::Segment>& segments) {
  return std::ranges::any_of(segments, [address](const elf::Segment& segment) {
    return segment.type == PT_LOAD && segment.executable && address >= segment.address &&
           address - segment.address < segment.memory_bytes;
  });
}

}  // namespace

UnitIndex UnitIndex::build(Dwarf* dwarf, const std::vector<elf::Segment>& segments) {
  UnitIndex index;
  ReadBudget budget{.ranges = kMaxRanges};
  Dwarf_CU* unit = nullptr;
  uint8_t unit_type = 0;
  Dwarf_Die die{};
  // Without a place for the sub-DIE: asked for it, libdw opens the file that a skeleton names.
  while (index.units_.size() < kMaxUnits && budget.ranges > 0 &&
         ::dwarf_get_units(dwarf, unit, &unit, nullptr, &unit_type, &die, nullptr) == 0) {
    const bool is_skeleton = unit_type == DW_UT_skeleton;
    if (die.addr == nullptr || (unit_type != DW_UT_compile && !is_skeleton)) {
      continue;
    }
    const uint64_t offset = ::dwarf_dieoffset(&die);
    if (!index.units_.empty()) {
      index.units_.back().bytes = offset - std::min(offset, index.units_.back().die_offset);
    }
    index.units_.push_back({offset, 0, is_skeleton});
    index.add_ranges(die, segments, budget);
  }
  std::ranges::sort(index.ranges_, {},
                    [](const Range& range) { return std::tuple(range.from, range.to, range.unit); });
  index.ranges_.shrink_to_fit();
  return index;
}

void UnitIndex::add_ranges(Dwarf_Die& unit, const std::vector<elf::Segment>& segments, ReadBudget& budget) {
  Dwarf_Addr base = 0;
  Dwarf_Addr from = 0;
  Dwarf_Addr to = 0;
  ptrdiff_t position = 0;
  const auto add = [&](uint64_t range_from, uint64_t range_to) {
    if (range_from < range_to && is_code(range_from, segments)) {
      ranges_.push_back({range_from, range_to, static_cast<uint32_t>(units_.size() - 1)});
    }
  };
  bool has_ranges = false;
  while (budget.ranges > 0 && (position = ::dwarf_ranges(&unit, position, &base, &from, &to)) > 0) {
    has_ranges = true;
    --budget.ranges;
    add(from, to);
  }
  if (!has_ranges) {
    // DWARF 2 knows no unit of several ranges: there the functions have them.
    UnitTree::read(unit, budget).for_each_range(add);
  }
}

std::optional<uint32_t> UnitIndex::unit_of(uint64_t address) const {
  auto range = std::ranges::upper_bound(ranges_, address, {}, &Range::from);
  for (int i = 0; i < kMaxOverlapping && range != ranges_.begin(); ++i) {
    --range;
    if (address < range->to) {
      return range->unit;
    }
  }
  return std::nullopt;
}

bool UnitIndex::has_functions() const {
  return std::ranges::any_of(units_, [](const DwarfUnit& unit) { return !unit.is_skeleton; });
}

uint64_t UnitIndex::memory_bytes() const {
  return units_.capacity() * sizeof(DwarfUnit) + ranges_.capacity() * sizeof(Range);
}

}  // namespace plimsoll::symbolizer
