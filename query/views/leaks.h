// `leaks`: what is in use and grows steadily.
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

namespace plimsoll::query {

struct LeaksRequest {
  Selection selection;        // of an event of snapshots; heap-inuse-bytes where none is named
  std::vector<Dimension> by;  // at least one
  int64_t period_ns = 0;      // of the longest regular wave of load
  size_t candidates = 100;    // the largest rows, which are tested
  bool all = false;           // show rows that do not grow, too
  size_t limit = 20;
};

// Parameters: those of a selection (query/selection/parameters.h); by, period (a duration), candidates, all, limit.
Result<LeaksRequest> parse_leaks(const Parameters& parameters, int64_t now_ns);

// A row for each of the candidates whose self grows by more than chance, the largest growth first; with `all` the others behind them.
// Columns:
//   the dimensions
//   verdict: grows; levels off (it did, and later less than half as fast); may be chance; too short (fewer than kMinGrowthSteps steps)
//   growth_per_day and its 95 % margin; in_use: the mean of the newest whole period; both weighted as in other views
//   p: the probability that at least one candidate grows as steadily by chance (Holm); "grows" under kLeakLevel
//   late_share: later growth over earlier growth; steps, processes: what was compared
// The test is statistics/growth.h's. A series of snapshots is one place of one machine (an endpoint), where one process follows
// another. kInvalid where the event is not of snapshots, kNotFound where the selection has no samples. Costs two passes over the rows,
// and 48 bytes for each candidate and snapshot that has some of it.
Result<Table> leaks(const LeaksRequest& request, const Snapshot& snapshot);

inline constexpr double kLeakLevel = 0.02;

}  // namespace plimsoll::query
