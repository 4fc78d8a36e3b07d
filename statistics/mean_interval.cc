#include "statistics/mean_interval.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/student_t.h"

namespace plimsoll::statistics {

MeanInterval mean_interval(std::span<const double> values) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  const auto count = static_cast<double>(values.size());
  const double mean = values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) {
    return {mean, -kUnbounded, kUnbounded};
  }
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  const double margin = student_t_quantile(0.975, count - 1) * std::sqrt(squares / (count - 1) / count);
  return {mean, mean - margin, mean + margin};
}

}  // namespace plimsoll::statistics
