#include "query/wsmeter/metric/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

constexpr double kUpperTail = 0.975;
constexpr size_t kMinForKurtosis = 30;

}  // namespace

Spread spread_of(std::span<const double> values) {
  Spread spread{.count = static_cast<int64_t>(values.size())};
  if (values.empty()) {
    return spread;
  }
  for (const double value : values) {
    spread.mean += value;
  }
  spread.mean /= static_cast<double>(values.size());
  for (const double value : values) {
    spread.variance += (value - spread.mean) * (value - spread.mean);
  }
  spread.variance = values.size() < 2 ? 0 : spread.variance / static_cast<double>(values.size() - 1);
  return spread;
}

double kurtosis_of(std::span<const double> values) {
  if (values.size() < kMinForKurtosis) {
    return kNormalKurtosis;
  }
  const double mean = spread_of(values).mean;
  double second = 0;
  double fourth = 0;
  for (const double value : values) {
    const double square = (value - mean) * (value - mean);
    second += square;
    fourth += square * square;
  }
  const double kurtosis = second > 0 ? fourth / second / second * static_cast<double>(values.size()) : 0;
  return std::max(kNormalKurtosis, kurtosis);
}

void MetricSum::add_variance(VariancePart part) {
  variance_ += part.variance;
  squares_ += part.variance * part.variance / part.degrees;
}

MetricEstimate MetricSum::estimate() const {
  MetricEstimate estimate{.value = value_, .deviation = std::sqrt(variance_)};
  estimate.degrees =
      squares_ > 0 ? variance_ * variance_ / squares_ : std::numeric_limits<double>::infinity();
  if (variance_ > 0) {
    estimate.margin = statistics::student_t_quantile(kUpperTail, estimate.degrees) * estimate.deviation;
  }
  return estimate;
}

VariancePart part_of_sample(double weight, const Spread& sample, int64_t population, double kurtosis) {
  const auto count = static_cast<double>(sample.count);
  const double left = population == 0 ? 1 : std::max(0.0, 1 - count / static_cast<double>(population));
  const double degrees = 2 / (2 / std::max(1.0, count - 1) + (kurtosis - kNormalKurtosis) / count);
  return {.variance = weight * weight * sample.variance / count * left, .degrees = std::max(1.0, degrees)};
}

}  // namespace plimsoll::query
