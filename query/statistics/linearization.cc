#include "query/statistics/linearization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace plimsoll::statistics {
namespace {

enum class Statistic { kShare, kRatio, kTotal };

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Of a sum of equal parts that come at random: its square over their number.
double counting_variance(double value, double samples) {
  return samples > 0 ? value * value / samples : 0;
}

class Linearization {
 public:
  Linearization(Statistic statistic, const Design& design, const RowSums& row)
      : statistic_(statistic), design_(design), row_(row), numerator_(sum(row.numerator)) {
    if (statistic != Statistic::kTotal) {
      denominator_ = sum(row.denominator);
    }
  }

  Estimate estimate() const {
    Estimate estimate;
    estimate.machines = contributors();
    if (denominator_ <= 0 || (statistic_ != Statistic::kShare && numerator_ <= 0)) {
      return estimate;
    }
    const double value = numerator_ / denominator_;
    estimate.value = value;
    estimate.margin_kind = margin_kind(estimate.machines);
    if (estimate.margin_kind == MarginKind::kTooFewMachines ||
        estimate.margin_kind == MarginKind::kTooFewSamples) {
      return estimate;
    }
    const Scale scale = statistic_ == Statistic::kShare ? Scale::kLogit : Scale::kLog;
    const Spread spread = spread_around(value);
    const Interval ends = interval(value, std::sqrt(spread.variance) / denominator_, spread.degrees, scale);
    estimate.low = ends.low;
    estimate.high = ends.high;
    estimate.margin = (ends.high - ends.low) / 2;
    return estimate;
  }

 private:
  bool is_alone() const { return design_.machines() == 1; }

  // Machines that have samples; of a share, of the rarer of the row and all the rest.
  size_t contributors() const {
    size_t with = 0;
    size_t with_rest = 0;
    for (size_t i = 0; i < row_.numerator.size(); ++i) {
      with += row_.numerator_samples[i] > 0 ? 1 : 0;
      with_rest += statistic_ != Statistic::kShare || rest_samples(i) > 0 ? 1 : 0;
    }
    return std::min(with, with_rest);
  }

  double rest_samples(size_t machine) const {
    return std::max(0.0, row_.denominator_samples[machine] - row_.numerator_samples[machine]);
  }

  // Where the noise of counts is all that there is, the counts must be large enough to be taken for normal.
  bool has_enough_samples() const {
    const double numerator = sum(row_.numerator_samples);
    const double denominator = statistic_ == Statistic::kTotal ? numerator : sum(row_.denominator_samples);
    const double rarer = statistic_ == Statistic::kShare ? std::min(numerator, denominator - numerator)
                                                         : std::min(numerator, denominator);
    return rarer >= kLeastSamples;
  }

  MarginKind margin_kind(size_t contributors) const {
    if (is_alone() || design_.is_census()) {
      const MarginKind within = is_alone() ? MarginKind::kWithinOneMachine : MarginKind::kWithinMachines;
      return has_enough_samples() ? within : MarginKind::kTooFewSamples;
    }
    if (contributors < std::min(design_.machines(), kLeastContributors)) {
      return MarginKind::kTooFewMachines;
    }
    // What a minority of machines has is some job's, and sizes of jobs differ more than those of machines.
    const size_t enough = contributors * 2 < design_.machines() ? kEnoughOfAMinority : kEnoughContributors;
    return contributors < enough ? MarginKind::kFewMachines : MarginKind::kBetweenMachines;
  }

  // Of the machine's residual, by the noise of its counts alone.
  double within(size_t machine, double value) const {
    const double numerator = row_.numerator[machine];
    const double samples = row_.numerator_samples[machine];
    if (statistic_ == Statistic::kTotal) {
      return counting_variance(numerator, samples);
    }
    const double denominator = row_.denominator[machine];
    if (statistic_ == Statistic::kRatio) {
      return counting_variance(numerator, samples) +
             value * value * counting_variance(denominator, row_.denominator_samples[machine]);
    }
    return (1 - value) * (1 - value) * counting_variance(numerator, samples) +
           value * value * counting_variance(denominator - numerator, rest_samples(machine));
  }

  // A machine that is a large part of all pulls the value to its own, so that its residual comes out too small.
  double residual(size_t machine, double value) const {
    const double numerator = row_.numerator[machine];
    const double denominator = row_.denominator[machine];
    if (statistic_ == Statistic::kTotal || is_alone() || denominator >= denominator_) {
      return statistic_ == Statistic::kTotal ? numerator : numerator - value * denominator;
    }
    return (numerator - value * denominator) / std::sqrt(1 - denominator / denominator_);
  }

  // Of the sum of residuals. By Satterthwaite: the within-machine part rests on many samples, the other on a few machines.
  Spread spread_around(double value) const {
    std::vector<double> residuals(row_.numerator.size());
    double within_variance = 0;
    for (size_t i = 0; i < residuals.size(); ++i) {
      residuals[i] = residual(i, value);
      within_variance += (is_alone() ? 1 : design_.inclusion_probability(i)) * within(i, value);
    }
    Spread between = is_alone() ? Spread() : design_.spread(residuals);
    const double variance = between.variance + within_variance;
    const double whole = between.variance > 0 ? variance / between.variance : 0;
    between.degrees = between.variance > 0 ? std::max(1.0, between.degrees) * whole * whole
                                           : std::numeric_limits<double>::infinity();
    between.variance = variance;
    return between;
  }

  const Statistic statistic_;
  const Design& design_;
  const RowSums& row_;
  const double numerator_;
  double denominator_ = 1;
};

}  // namespace

Estimate share(const Design& design, const RowSums& row) {
  return Linearization(Statistic::kShare, design, row).estimate();
}

Estimate ratio(const Design& design, const RowSums& row) {
  return Linearization(Statistic::kRatio, design, row).estimate();
}

Estimate total(const Design& design, const RowSums& row) {
  return Linearization(Statistic::kTotal, design, row).estimate();
}

}  // namespace plimsoll::statistics
