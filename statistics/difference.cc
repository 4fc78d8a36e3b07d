#include "statistics/difference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "statistics/linearization.h"

namespace plimsoll::statistics {
namespace {

class Difference {
 public:
  Difference(Statistic statistic, const Design& design, const Side& base, const Side& other)
      : statistic_(statistic),
        design_(design),
        base_side_(base),
        other_side_(other),
        base_(statistic, base.sums, base.machines == 1),
        other_(statistic, other.sums, other.machines == 1) {}

  Estimate estimate() const {
    Estimate estimate;
    estimate.machines = contributors();
    if (base_.denominator() <= 0 || other_.denominator() <= 0) {
      return estimate;
    }
    const double value = other_.value() - base_.value();
    estimate.value = value;
    estimate.margin_kind = margin_kind(estimate.machines);
    if (has_margin(estimate.margin_kind)) {
      const Spread change = spread();
      set_interval(interval(value, std::sqrt(change.variance), change.degrees, Scale::kLinear), estimate);
    }
    return estimate;
  }

 private:
  bool is_alone() const { return base_side_.machines == 1 || other_side_.machines == 1; }

  size_t contributors() const {
    const size_t with = base_.contributors() + other_.contributors();
    return statistic_ == Statistic::kShare
               ? std::min(with, base_.contributors_of_rest() + other_.contributors_of_rest())
               : with;
  }

  // A row that is new, or gone, has none on one side: what counts is how many of that side would have it, were both alike.
  bool has_enough_samples() const {
    const double rarer = base_.rarer_samples() + other_.rarer_samples();
    const double base = base_.exposure();
    const double other = other_.exposure();
    return rarer * std::min(base, other) / (base + other) >= kMinSamples;
  }

  MarginKind margin_kind(size_t contributors) const {
    if (is_alone() || design_.is_census()) {
      const MarginKind within = is_alone() ? MarginKind::kWithinOneMachine : MarginKind::kWithinMachines;
      return has_enough_samples() ? within : MarginKind::kTooFewSamples;
    }
    return std::max(margin_kind(contributors, base_side_), margin_kind(contributors, other_side_));
  }

  // Likewise of machines.
  MarginKind margin_kind(size_t contributors, const Side& side) const {
    const size_t expected = contributors * side.machines / (base_side_.machines + other_side_.machines);
    return kind_between_machines(expected, side.machines);
  }

  Spread spread() const {
    std::vector<double> residuals(design_.machines());
    double within_variance = 0;
    for (size_t i = 0; i < residuals.size(); ++i) {
      residuals[i] = other_.residual(i) - base_.residual(i);
      within_variance +=
          counts_of(base_side_, i) * base_.within(i) + counts_of(other_side_, i) * other_.within(i);
    }
    return plus_counts(design_.machines() == 1 ? Spread() : design_.spread(residuals), within_variance);
  }

  // What part of the noise of a machine's counts is not among the differences between machines.
  double counts_of(const Side& side, size_t machine) const {
    return side.machines == 1 ? 1 : design_.inclusion_probability(machine);
  }

  const Statistic statistic_;
  const Design& design_;
  const Side& base_side_;
  const Side& other_side_;
  const LinearizedRow base_;
  const LinearizedRow other_;
};

}  // namespace

Estimate difference(Statistic statistic, const Design& design, const Side& base, const Side& other) {
  return Difference(statistic, design, base, other).estimate();
}

}  // namespace plimsoll::statistics
