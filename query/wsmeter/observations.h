// What WSMeter stands on: how fast each instance of a job ran on each machine, and how much of a machine it may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "query/wsmeter/observed/observation.h"

namespace plimsoll::query {

struct ObservationsRequest {
  Selection selection = {};                   // of no event
  std::string ratio = "instructions/cycles";  // as parse_ratio() gives it: what performance is
  size_t limit = 1'000'000;
};

// Parameters: those of a selection but for event; ratio, limit.
Result<ObservationsRequest> parse_observations(const Parameters& parameters, int64_t now_ns);

// Each instance on each machine, those with the most of the ratio's denominator first, as ratio_rows() has them, over all of the time
// selected. quota_cpus is the instance's in the newest census of the machine, absent where it has none or does not run there any more.
// An instance whose machine changed its platform is there for each. What has no samples of one of the events is left out; a note counts
// those, and another says where the limit left some out. kNotFound where no machine counted both events.
Result<Observations> observe(const ObservationsRequest& request, const Snapshot& snapshot,
                             const LiveFleet& fleet);

// The same as a table: table_of(). As CSV it is one that read_performance() takes.
Result<Table> observations(const ObservationsRequest& request, const Snapshot& snapshot,
                           const LiveFleet& fleet);

}  // namespace plimsoll::query
