#include "query/selection/joint_coverage.h"

#include <algorithm>
#include <vector>

namespace plimsoll::query {
namespace {

bool selects(const ResolvedSelection& selection, const store::OriginEventEntry& entry) {
  const store::RowFilter& filter = selection.request.filter;
  return filter.events[entry.event] && filter.origins[entry.origin];
}

}  // namespace

Coverage joint_coverage(const ResolvedSelection& base, const ResolvedSelection& other,
                        const Snapshot& snapshot) {
  std::vector<bool> is_there(snapshot.origins.machines);
  for (const store::OriginEventEntry& entry : snapshot.dictionaries.origin_events) {
    if (selects(base, entry) || selects(other, entry)) {
      is_there[snapshot.origins.machine_of(entry.origin)] = true;
    }
  }
  Coverage coverage = other.coverage;
  coverage.from_ns = std::min(coverage.from_ns, base.coverage.from_ns);
  coverage.to_ns = std::max(coverage.to_ns, base.coverage.to_ns);
  coverage.lost += base.coverage.lost;
  coverage.machines_drawn = std::ranges::count(is_there, true);
  coverage.machines_live = std::max(snapshot.machines_registered, coverage.machines_drawn);
  return coverage;
}

}  // namespace plimsoll::query
