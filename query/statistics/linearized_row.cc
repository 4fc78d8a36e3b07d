#include "query/statistics/linearized_row.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll::statistics {
namespace {

// By which sums of the same samples in another order may differ: no rest of whole samples is so small a part.
constexpr double kRounding = 1e-11;

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Of a sum of equal parts that come at random: its square over their number.
double counting_variance(double value, double samples) {
  return samples > 0 ? value * value / samples : 0;
}

}  // namespace

LinearizedRow::LinearizedRow(Statistic statistic, const RowSums& sums, bool is_alone)
    : statistic_(statistic), sums_(sums), is_alone_(is_alone), numerator_(sum(sums.numerator)) {
  if (statistic != Statistic::kTotal) {
    denominator_ = sum(sums.denominator);
  }
}

double LinearizedRow::residual(size_t machine) const {
  const double numerator = sums_.numerator[machine];
  if (statistic_ == Statistic::kTotal) {
    return numerator;
  }
  const double denominator = sums_.denominator[machine];
  const double residual = (numerator - value() * denominator) / denominator_;
  return is_alone_ || denominator >= denominator_ ? residual
                                                  : residual / std::sqrt(1 - denominator / denominator_);
}

double LinearizedRow::within(size_t machine) const {
  const double numerator = sums_.numerator[machine] / denominator_;
  const double samples = sums_.numerator_samples[machine];
  if (statistic_ == Statistic::kTotal || statistic_ == Statistic::kRate) {
    return counting_variance(numerator, samples);
  }
  const double denominator = sums_.denominator[machine] / denominator_;
  const double v = value();
  if (statistic_ == Statistic::kRatio) {
    return counting_variance(numerator, samples) +
           v * v * counting_variance(denominator, sums_.denominator_samples[machine]);
  }
  return (1 - v) * (1 - v) * counting_variance(numerator, samples) +
         v * v * counting_variance(denominator - numerator, rest_samples(machine));
}

size_t LinearizedRow::contributors() const {
  return static_cast<size_t>(
      std::ranges::count_if(sums_.numerator_samples, [](double samples) { return samples > 0; }));
}

size_t LinearizedRow::contributors_of_rest() const {
  size_t contributors = 0;
  for (size_t i = 0; i < sums_.numerator.size(); ++i) {
    contributors += rest_samples(i) > 0 ? 1 : 0;
  }
  return contributors;
}

double LinearizedRow::rarer_samples() const {
  const double numerator = sum(sums_.numerator_samples);
  if (statistic_ == Statistic::kTotal || statistic_ == Statistic::kRate) {
    return numerator;
  }
  const double denominator = sum(sums_.denominator_samples);
  return std::min(numerator, statistic_ == Statistic::kShare ? denominator - numerator : denominator);
}

double LinearizedRow::exposure() const {
  return statistic_ == Statistic::kTotal || statistic_ == Statistic::kRate ? denominator_
                                                                           : sum(sums_.denominator_samples);
}

double LinearizedRow::rest_samples(size_t machine) const {
  const double all = sums_.denominator_samples[machine];
  const double rest = all - sums_.numerator_samples[machine];
  return rest > kRounding * all ? rest : 0;
}

}  // namespace plimsoll::statistics
