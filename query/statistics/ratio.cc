#include "query/statistics/ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

constexpr double kUpperProbability = 0.975;  // of a two-sided interval of 95 %

bool is_observed(const MachineSums& machine) {
  return machine.numerator_samples > 0 || machine.denominator_samples > 0;
}

// A machine alone is all there is to see: only its counting noise is known.
double probability_of(const MachineSums& machine, size_t observed) {
  return observed == 1 ? 1 : machine.inclusion_probability.value_or(0);
}

MarginKind kind_of(std::span<const MachineSums> machines, size_t observed) {
  if (observed == 1) {
    return MarginKind::kWithinOneMachine;
  }
  const bool are_all = std::ranges::all_of(machines, [&](const MachineSums& machine) {
    return !is_observed(machine) || probability_of(machine, observed) == 1;
  });
  return are_all ? MarginKind::kWithinMachines : MarginKind::kBetweenMachines;
}

// Of a sum of equal parts that come at random: its square over their number.
double counting_variance(double value, double samples) {
  return samples > 0 ? value * value / samples : 0;
}

// Parts of the variance of a ratio's numerator of residuals, sum of (y - R x).
struct Variance {
  double between = 0;
  double within = 0;

  // By Satterthwaite: the within-machine part rests on many samples, the other on a few machines.
  double degrees(size_t machines) const {
    const double whole = between + within;
    return between == 0 ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(machines - 1) * (whole / between) * (whole / between);
  }
};

Variance variance_of(std::span<const MachineSums> machines, double ratio, size_t observed) {
  Variance variance;
  for (const MachineSums& machine : machines) {
    const double residual = machine.numerator - ratio * machine.denominator;
    const double within = counting_variance(machine.numerator, machine.numerator_samples) +
                          ratio * ratio * counting_variance(machine.denominator, machine.denominator_samples);
    const double probability = probability_of(machine, observed);
    variance.between += (1 - probability) * residual * residual;
    variance.within += probability * within;
  }
  if (observed > 1) {
    variance.between *= static_cast<double>(observed) / static_cast<double>(observed - 1);
  }
  return variance;
}

}  // namespace

Estimate ratio(std::span<const MachineSums> machines) {
  MachineSums sums;
  Estimate estimate;
  for (const MachineSums& machine : machines) {
    sums.numerator += machine.numerator;
    sums.denominator += machine.denominator;
    sums.numerator_samples += machine.numerator_samples;
    sums.denominator_samples += machine.denominator_samples;
    estimate.machines += is_observed(machine) ? 1 : 0;
  }
  if (sums.numerator_samples <= 0 || sums.denominator_samples <= 0 || sums.denominator <= 0) {
    return estimate;
  }
  estimate.value = sums.numerator / sums.denominator;
  if (sums.numerator_samples < kLeastSamples || sums.denominator_samples < kLeastSamples) {
    estimate.margin_kind = MarginKind::kTooFewSamples;
    return estimate;
  }
  const Variance variance = variance_of(machines, *estimate.value, estimate.machines);
  estimate.margin = student_t_quantile(kUpperProbability, variance.degrees(estimate.machines)) *
                    std::sqrt(variance.between + variance.within) / sums.denominator;
  estimate.margin_kind = kind_of(machines, estimate.machines);
  return estimate;
}

}  // namespace plimsoll::statistics
