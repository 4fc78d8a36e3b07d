// What `plimsoll assign` goes by where it is not told: what jobs cost on platforms, and how much of them runs where, as it was measured.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct MeasuredPairsRequest {
  Selection selection = {};  // of no event
  int64_t now_ns = 0;        // wall clock: which machines are live
};

// Parameters: those of a selection but for event.
Result<MeasuredPairsRequest> parse_measured_pairs(const Parameters& parameters, int64_t now_ns);

// A row for each job on each platform, by both: job, platform, cpi, margin, margin_kind (as ratio_table() has them; empty: unknown), load (instructions a second on all
// machines of the platform: those that are live and that filters on machines let pass, or, where none has registered, those that were seen), machines. What has no samples of cycles or
// instructions has no row; a note counts those. kNotFound where no machine counted both.
Result<Table> measured_pairs(const MeasuredPairsRequest& request, const Snapshot& snapshot,
                             const LiveFleet& fleet);

}  // namespace plimsoll::query
