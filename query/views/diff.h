// `diff`: what changed from one selection to another (two times, jobs, revisions, platforms), and whether by more than chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "query/views/measure.h"

namespace plimsoll::query {

struct DiffRequest {
  // Of the same event.
  Selection base;
  Selection other;
  std::vector<Dimension> by;  // at least one
  Measure measure = Measure::kShare;
  size_t limit = 20;
  // Rows that are looked at: so many of the largest self, and of the largest total, of both sides together. The fewer, the smaller
  // the changes that can be told from chance.
  size_t among = 100;
  bool margins = true;
};

// By chance alone, a table says that something has changed in fewer comparisons than this.
inline constexpr double kChangeLevel = 0.02;

// Parameters: event and those of query/selection/sides.h; by (function), measure (share, rate), limit, among, margins (yes or no).
Result<DiffRequest> parse_diff(const Parameters& parameters, int64_t now_ns);

// Columns: the dimensions; then of self, and of total, where M is share or rate:
//   base_self_M, new_self_M
//   self_M_change, and its _margin, _low, _high (the 95 % interval), _margin_kind (statistics/difference.h)
//   self_p: the chance of any of the rows that were looked at changing so much without a cause (family-wise, by permutation of machines;
//     where there is one machine, by the noise of its counts); absent where too few machines can tell
//   self_verdict: "more" or "less" where that is under kChangeLevel, else "may be chance", "cannot tell"
// Rows that have changed stand first, the largest change of self before others; then those whose total has; then the rest.
//
// Columns of p and verdict are absent without margins. Notes say what either side is. kNotFound where one has no samples. Costs two passes over the rows of
// each side, one without margins.
Result<Table> diff(const DiffRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
