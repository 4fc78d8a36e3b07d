#include "store/segments/zone_filter.h"

#include <algorithm>
#include <span>

namespace plimsoll::store {
namespace {

bool holds_any(const IdSet& set, Zone zone) {
  const std::span<const IdRange> ranges = set.ranges();
  const auto range = std::ranges::lower_bound(ranges, zone.min, {}, &IdRange::last);
  return range != ranges.end() && range->first <= zone.max;
}

}  // namespace

bool ZoneFilter::may_hold(const ChunkZones& zones) const {
  return std::ranges::all_of(kColumns,
                             [&](Column column) { return holds_any(filter_[column], zones[column]); });
}

}  // namespace plimsoll::store
