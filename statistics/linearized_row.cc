#include "statistics/linearized_row.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll::statistics {
namespace {

// By which sums of the same samples in another order may differ: what is left of a machine's value is no rest below that part.
constexpr double kRounding = 1e-11;

// By which the effective number of as many samples, added in another order, may differ, in parts of it.
constexpr double kCounting = 1e-9;

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// (sum w)^2 / sum w^2: of parts that are alike, their number, whatever the order in which they were added.
double effective_number(double sum, double squares) {
  const double number = squares > 0 ? sum * sum / squares : 0;
  return std::abs(number - std::round(number)) <= kCounting * number ? std::round(number) : number;
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
  const double scale = 1 / (denominator_ * denominator_);
  const double numerator = sums_.numerator_squares[machine] * scale;
  if (statistic_ == Statistic::kTotal || statistic_ == Statistic::kRate) {
    return numerator;
  }
  const double v = value();
  if (statistic_ == Statistic::kRatio) {
    return numerator + v * v * sums_.denominator_squares[machine] * scale;
  }
  return (1 - v) * (1 - v) * numerator + v * v * rest_squares(machine) * scale;
}

size_t LinearizedRow::contributors() const {
  return static_cast<size_t>(
      std::ranges::count_if(sums_.numerator_squares, [](double squares) { return squares > 0; }));
}

size_t LinearizedRow::contributors_of_rest() const {
  size_t contributors = 0;
  for (size_t i = 0; i < sums_.numerator.size(); ++i) {
    contributors += rest(i) > 0 ? 1 : 0;
  }
  return contributors;
}

double LinearizedRow::rarer_samples() const {
  const double numerator = effective_number(numerator_, sum(sums_.numerator_squares));
  if (statistic_ == Statistic::kTotal || statistic_ == Statistic::kRate) {
    return numerator;
  }
  if (statistic_ == Statistic::kRatio) {
    return std::min(numerator, effective_number(denominator_, sum(sums_.denominator_squares)));
  }
  double rest_sum = 0;
  double squares = 0;
  for (size_t i = 0; i < sums_.numerator.size(); ++i) {
    rest_sum += rest(i);
    squares += rest_squares(i);
  }
  return std::min(numerator, effective_number(rest_sum, squares));
}

double LinearizedRow::exposure() const {
  return statistic_ == Statistic::kTotal || statistic_ == Statistic::kRate
             ? denominator_
             : effective_number(denominator_, sum(sums_.denominator_squares));
}

double LinearizedRow::rest(size_t machine) const {
  const double all = sums_.denominator[machine];
  const double rest = all - sums_.numerator[machine];
  return rest > kRounding * all ? rest : 0;
}

double LinearizedRow::rest_squares(size_t machine) const {
  // Differences of sums in another order may be a little below 0.
  return rest(machine) > 0
             ? std::max(0.0, sums_.denominator_squares[machine] - sums_.numerator_squares[machine])
             : 0;
}

}  // namespace plimsoll::statistics
