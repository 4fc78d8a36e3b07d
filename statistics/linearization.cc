#include "statistics/linearization.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll::statistics {
namespace {

// Machines that have samples; of a share, of the rarer of the row and all the rest.
size_t contributors(const LinearizedRow& row) {
  return row.statistic() == Statistic::kShare ? std::min(row.contributors(), row.contributors_of_rest())
                                              : row.contributors();
}

MarginKind margin_kind(const Design& design, const LinearizedRow& row, size_t contributors) {
  const bool is_alone = design.machines() == 1;
  if (is_alone || design.is_census()) {
    // Where the noise of counts is all that there is, the counts must be large enough to be taken for normal.
    if (row.rarer_samples() < kMinSamples) {
      return MarginKind::kTooFewSamples;
    }
    return is_alone ? MarginKind::kWithinOneMachine : MarginKind::kWithinMachines;
  }
  const MarginKind kind = kind_between_machines(contributors, design.machines());
  if (kind != MarginKind::kBetweenMachines) {
    return kind;
  }
  // Where some samples stand for much more than others (daemons that had to sample less often), few of them make the value, on however many
  // machines they are: as few machines would.
  const double effective = std::min(row.rarer_samples(), static_cast<double>(contributors));
  const bool are_enough = kind_between_machines(static_cast<size_t>(effective), design.machines()) == kind;
  return are_enough ? kind : MarginKind::kFewMachines;
}

Spread spread_of(const Design& design, const LinearizedRow& row) {
  const bool is_alone = design.machines() == 1;
  std::vector<double> residuals(design.machines());
  double within_variance = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    residuals[i] = row.residual(i);
    within_variance += (is_alone ? 1 : design.inclusion_probability(i)) * row.within(i);
  }
  return plus_counts(is_alone ? Spread() : design.spread(residuals), within_variance);
}

Estimate estimate(Statistic statistic, const Design& design, const RowSums& sums) {
  const LinearizedRow row(statistic, sums, design.machines() == 1);
  Estimate estimate;
  estimate.machines = contributors(row);
  if (row.denominator() <= 0 || (statistic != Statistic::kShare && row.numerator() <= 0)) {
    return estimate;
  }
  estimate.value = row.value();
  estimate.margin_kind = margin_kind(design, row, estimate.machines);
  if (!has_margin(estimate.margin_kind)) {
    return estimate;
  }
  const Scale scale = statistic == Statistic::kShare ? Scale::kLogit : Scale::kLog;
  const Spread spread = spread_of(design, row);
  set_interval(interval(row.value(), std::sqrt(spread.variance), spread.degrees, scale), estimate);
  return estimate;
}

}  // namespace

MarginKind kind_between_machines(size_t contributors, size_t machines) {
  if (contributors < std::min(machines, kMinContributors)) {
    return MarginKind::kTooFewMachines;
  }
  // What a minority of machines has is some job's, and sizes of jobs differ more than those of machines.
  const size_t enough = contributors * 2 < machines ? kEnoughOfAMinority : kEnoughContributors;
  return contributors < enough ? MarginKind::kFewMachines : MarginKind::kBetweenMachines;
}

Estimate share(const Design& design, const RowSums& row) {
  return estimate(Statistic::kShare, design, row);
}

Estimate ratio(const Design& design, const RowSums& row) {
  return estimate(Statistic::kRatio, design, row);
}

Estimate rate(const Design& design, const RowSums& row) {
  return estimate(Statistic::kRate, design, row);
}

Estimate total(const Design& design, const RowSums& row) {
  return estimate(Statistic::kTotal, design, row);
}

}  // namespace plimsoll::statistics
