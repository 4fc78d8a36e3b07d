#include "query/selection/joint_coverage.h"

#include <algorithm>
#include <vector>

#include "query/selection/selected_events.h"

namespace plimsoll::query {
Coverage joint_coverage(const ResolvedSelection& base, const ResolvedSelection& other,
                        const Snapshot& snapshot) {
  std::vector<bool> is_there(snapshot.origins.machines);
  for (const ResolvedSelection* const selection : {&base, &other}) {
    for_each_selected(snapshot, selection->request.filter, [&](const store::OriginEventEntry& entry) {
      is_there[snapshot.origins.machine_of(entry.origin)] = true;
    });
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
