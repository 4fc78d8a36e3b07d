// `coverage`: which part of the fleet, and of its CPU time, an answer stands on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct CoverageRequest {
  Selection selection;
  std::vector<Dimension> by;  // attributes of machines; at least one
  size_t limit = 20;
  int64_t now_ns = 0;  // wall clock: who is live
};

// Parameters: those of a selection (query/selection/parameters.h); by (platform), limit.
Result<CoverageRequest> parse_coverage(const Parameters& parameters, int64_t now_ns);

// A row for each part of the fleet, the largest first. The fleet is the machines that are live or have profiles in the selection, and
// that its filters on machines let pass; a machine belongs where its newest attributes say. Columns: the dimensions, then
//   machines, machines_seen: how many there are, and how many of them have profiles of the event in the selection; machines_seen_share
//   cpus_used: by the newest censuses; cpus_seen_share: of those, the part of the machines seen. Absent without a census
//   observed: the time of the profiles' windows, of all machines together
//   samples, stackless_share (of those), unsymbolized_share (of the event's value): as a Coverage has them
// Costs a pass over the rows.
Result<Table> coverage(const CoverageRequest& request, const Snapshot& snapshot, const LiveFleet& fleet);

}  // namespace plimsoll::query
