#include "statistics/robust.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::statistics {

double quantile_of_sorted(std::span<const double> ascending, double share) {
  if (ascending.empty()) {
    return 0;
  }
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

double median_of(std::span<double> values) {
  if (values.empty()) {
    return 0;
  }
  const size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<ptrdiff_t>(middle);
  std::ranges::nth_element(values, at);
  if (values.size() % 2 == 1) {
    return *at;
  }
  return (*at + *std::max_element(values.begin(), at)) / 2;
}

double robust_deviation(std::span<double> deviations) {
  // 1 / the upper quartile of the normal distribution: Hampel, JASA 69 (1974).
  constexpr double kPerMedian = 1.4826;
  for (double& deviation : deviations) {
    deviation = std::abs(deviation);
  }
  return kPerMedian * median_of(deviations);
}

}  // namespace plimsoll::statistics
