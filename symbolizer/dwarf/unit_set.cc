#include "symbolizer/dwarf/unit_set.h"

#include <algorithm>

#include "symbolizer/dwarf/aranges.h"

namespace plimsoll::symbolizer {
namespace {

// Where the arrays of split DWARF begin, which has no attributes that say so: behind the section's header (DWARF 5, 7.26
// to 7.28), whose length takes 12 bytes in place of 4 in 64-bit DWARF. Before DWARF 5 there was no header.
void set_split_bases(const UnitHeader& header, Unit& unit) {
  const bool has_header = header.version >= 5;
  const uint64_t length_bytes = header.offset_bytes == 8 ? 12 : 4;
  unit.bases.str_offsets = has_header ? length_bytes + 4 : 0;
  unit.bases.rnglists = has_header ? length_bytes + 8 : 0;
}

}  // namespace

std::unique_ptr<UnitSet> UnitSet::read(const DwarfSections& sections, const DwarfSections* supplement,
                                       const SkeletonOf* skeleton, CodeBudget& budget, std::string& damage) {
  std::unique_ptr<UnitSet> set(new UnitSet(sections.abbrev));
  const auto aranges = read_aranges(sections.aranges, budget.range_entries);
  for (const UnitHeader& header : read_unit_headers(sections.info, damage)) {
    const auto abbreviations = set->abbreviations_.at(header.abbreviations);
    if (!abbreviations) {
      damage = damage.empty() ? abbreviations.error().message : damage;
      set->left_out_.push_back(header.entries_begin);
      continue;
    }
    Unit unit{.header = &header,
              .sections = &sections,
              .supplement = supplement,
              .address_sections = skeleton == nullptr ? &sections : skeleton->sections,
              .abbreviations = *abbreviations,
              .bases = {}};
    if (skeleton != nullptr) {
      unit.bases = skeleton->bases;
      unit.bases.ranges = skeleton->bases.split_ranges;
      set_split_bases(header, unit);
    }
    auto attributes = read_unit_attributes(unit, budget);
    if (!attributes) {
      damage = damage.empty() ? attributes.error().message : damage;
      set->left_out_.push_back(header.entries_begin);
      continue;
    }
    if (skeleton != nullptr) {
      unit.low_pc = skeleton->low_pc;
    }
    if (const auto more = aranges.find(header.offset); attributes->tells_one_range && more != aranges.end()) {
      attributes->ranges.insert(attributes->ranges.end(), more->second.begin(), more->second.end());
    }
    set->members_.push_back({header, unit, std::move(*attributes)});
  }
  for (Member& member : set->members_) {
    member.unit.header = &member.header;
  }
  return set;
}

const Unit* UnitSet::find(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(
      members_, offset, {}, [](const Member& member) { return member.header.entries_begin; });
  if (after == members_.begin() || offset >= std::prev(after)->header.end) {
    return nullptr;
  }
  return &std::prev(after)->unit;
}

}  // namespace plimsoll::symbolizer
