#include "store/segments/zone_filter.h"

#include <algorithm>

namespace plimsoll::store {

ZoneFilter::Flags::Flags(const std::vector<bool>& flags) {
  if (flags.empty()) {
    return;
  }
  uint32_t selected = 0;
  selected_below_.reserve(flags.size() + 1);
  selected_below_.push_back(0);
  for (const bool flag : flags) {
    selected_below_.push_back(selected += flag ? 1 : 0);
  }
}

bool ZoneFilter::Flags::may_hold(Zone zone) const {
  if (selected_below_.empty()) {
    return true;
  }
  const size_t ids = selected_below_.size() - 1;
  const size_t first = std::min<size_t>(zone.min, ids);
  const size_t end = std::min<size_t>(size_t{zone.max} + 1, ids);
  return selected_below_[first] < selected_below_[end];
}

ZoneFilter::ZoneFilter(const RowFilter& filter) {
  for (const Column column : kColumns) {
    flags_[column] = Flags(filter[column]);
  }
}

bool ZoneFilter::may_hold(const ChunkZones& zones) const {
  return std::ranges::all_of(kColumns, [&](Column column) { return flags_[column].may_hold(zones[column]); });
}

}  // namespace plimsoll::store
