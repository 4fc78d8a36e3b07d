// `series`: how the largest rows go over time.
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

struct SeriesRequest {
  Selection selection;
  std::vector<Dimension> by;  // at least one
  Measure measure = Measure::kShare;
  int64_t bucket_ns = 0;  // 0: so that there are a few dozen
  size_t limit = 5;       // rows, the largest of all of the time
};

// Parameters: those of a selection (query/selection/parameters.h); by, measure (share, rate), bucket (a duration), limit.
Result<SeriesRequest> parse_series(const Parameters& parameters, int64_t now_ns);

// A row for each bucket of time that there are profiles of, in order, and in it each of the rows, the largest self of all of the time
// first. Columns:
//   time: the bucket's start, a multiple of its length since 1970; machines: that it stands on, one for each draw that it was in
//   the dimensions
//   of self, and of total, where M is share or rate: self_M, self_M_margin, _low, _high (the 95 % interval), _margin_kind
//
// A profile belongs to the bucket that the middle of its window is in. A bucket is a sample of its own. Costs a pass over the
// rows and one over each bucket's. kNotFound where the selection has no samples, kTooLarge of more than kMaxBuckets.
Result<Table> series(const SeriesRequest& request, const Snapshot& snapshot);

inline constexpr size_t kMaxBuckets = 2000;

}  // namespace plimsoll::query
