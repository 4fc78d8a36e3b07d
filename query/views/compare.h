// `compare`: by how much a metric differs between two selections, hardware generations say, on the jobs that both run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/selection/parameters.h"
#include "query/selection/sides.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct CompareRequest {
  Sides sides;  // of no event
  std::string ratio = "instructions/cycles";
  std::vector<Dimension> by;  // at least one; what stays the same on both sides
  size_t limit = 20;
  double margin = 0.01;  // that is wanted: machines_needed says what it takes
};

// Parameters: those of query/selection/sides.h; ratio (two events, or ipc, cpi, ...), by (default: job), limit, margin (a share).
Result<CompareRequest> parse_compare(const Parameters& parameters, int64_t now_ns);

// Two rows about all, then one for each job (or whatever `by` says), those of the largest weight first:
//   "[by quota]", or "[fixed mix]": the jobs that both sides run, each by what it was on the base side, in the mean by their CPU quotas (or
//     where nobody has one, or rows are not jobs: by what they have of the denominator on the base side)
//   "[actual mix]": all over all, which moves with the mix of jobs as well
// Columns: the dimensions; weight: of all that has a weight; base_ratio and new_ratio with _margin, _low, _high, _margin_kind;
// ratio_change: of the base, as a share, with the same; change_p: the chance of so large a change of any of the jobs without a cause (by
// Bonferroni); verdict: "higher" or "lower" where that is under 5 %, "cannot tell", or why a job is left out of the mean; machines_needed:
// how many more with samples of it (of both sides together) would bring the margin down to the one that is wanted, or would give it one;
// base_machines, new_machines: that have samples of it.
//
// A job is left out where one side has none of it, where it has no weight, or where too few machines have any for a margin. kNotFound
// where a side has no samples of both events. Costs two passes over the rows of each side.
Result<Table> compare(const CompareRequest& request, const Snapshot& snapshot, const LiveFleet& fleet);

}  // namespace plimsoll::query
