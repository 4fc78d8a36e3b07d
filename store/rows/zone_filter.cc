#include "store/rows/zone_filter.h"

#include <algorithm>

namespace plimsoll::store {

ZoneFilter::Column::Column(const std::vector<bool>& flags) {
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

bool ZoneFilter::Column::may_hold(Zone zone) const {
  if (selected_below_.empty()) {
    return true;
  }
  const size_t ids = selected_below_.size() - 1;
  const size_t first = std::min<size_t>(zone.min, ids);
  const size_t end = std::min<size_t>(size_t{zone.max} + 1, ids);
  return selected_below_[first] < selected_below_[end];
}

ZoneFilter::ZoneFilter(const RowFilter& filter)
    : events_(filter.events),
      workloads_(filter.workloads),
      origins_(filter.origins),
      threads_(filter.threads),
      stacks_(filter.stacks) {}

bool ZoneFilter::may_hold(const ChunkZones& zones) const {
  return events_.may_hold(zones.event) && workloads_.may_hold(zones.workload) &&
         origins_.may_hold(zones.origin) && threads_.may_hold(zones.thread) && stacks_.may_hold(zones.stack);
}

}  // namespace plimsoll::store
