// What machines have of which jobs, as tests write it down.
#pragma once

#include <vector>

#include "store/live/live_machine.h"
#include "store/live/placed_jobs.h"

namespace plimsoll::testing {

// By machine.
inline store::PlacedJobs placed_jobs(const std::vector<std::vector<store::JobPlacement>>& by_machine) {
  store::PlacedJobs placed;
  for (const std::vector<store::JobPlacement>& of_machine : by_machine) {
    placed.add_machine();
    for (const store::JobPlacement& placement : of_machine) {
      placed.add(placement);
    }
  }
  return placed;
}

}  // namespace plimsoll::testing
