// What WSMeter stands on: how fast each instance of a job ran on each machine, and how much of a machine it may have.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "query/views/machines.h"

namespace plimsoll::query {

struct ObservationsRequest {
  Selection selection;  // of no event
  size_t limit = 1'000'000;
};

// A row for each instance on each machine that has samples of cycles or instructions, the most cycles first:
//   job, machine, platform, instance, ipc, ipc_margin, margin_kind, cycles, quota_cpus
// as ratio_table() has them; quota_cpus is the instance's in the newest census of the machine, absent where it has none or
// does not run there any more. An instance whose machine changed its platform has a row for each. kNotFound where
// nobody counted cycles and instructions.
Result<Table> observations(const ObservationsRequest& request, const Snapshot& snapshot,
                           const LiveFleet& fleet);

}  // namespace plimsoll::query
