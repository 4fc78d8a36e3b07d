// What changes from one selection to another in some rows: by how much, with its margin, and whether by more than chance.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "query/rows/grouping.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "query/snapshot/snapshot.h"
#include "statistics/estimate.h"
#include "statistics/linearized_row.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// One of the two selections. Borrows its request, whose groups a Grouping has set.
struct JudgedSide {
  const store::AggregateRequest& request;
  // What values are divided by, by origin; empty: by the value of all that was selected.
  std::vector<double> exposures;
};

// Over the machines of either side. Borrows the grouping, which is that of both requests, the snapshot and the requests. One thread; uses
// others.
class ChangeJudgement {
 public:
  // `statistic`: kShare, or kRate of sides with exposures.
  ChangeJudgement(statistics::Statistic statistic, std::array<JudgedSide, 2> sides, const Grouping& grouping,
                  const Snapshot& snapshot);

  // The chance of any of the rows changing so much without a cause, row-major by part: by permutation of machines; where each side is one
  // machine, by the noise of its counts; absent where too few machines can tell. kTooLarge as RowSplitter::tabulate().
  Result<std::vector<std::optional<double>>> p_values(std::span<const RowKey> rows) const;

  // By how much each row differs, row-major by part: the second side less the first. kTooLarge as RowSplitter::split().
  Result<std::vector<statistics::Estimate>> differences(std::span<const RowKey> rows) const;

 private:
  Result<std::vector<std::optional<double>>> p_values_by_counts(std::span<const RowKey> rows) const;

  const statistics::Statistic statistic_;
  const std::array<JudgedSide, 2> sides_;  // base and other
  const Grouping& grouping_;
  const Snapshot& snapshot_;
  const MachineSample sample_;  // of either
  const Domain all_;
};

}  // namespace plimsoll::query
