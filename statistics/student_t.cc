#include "statistics/student_t.h"

#include <cmath>

#include "statistics/incomplete_beta.h"

namespace plimsoll::statistics {
namespace {

// From here on the difference of logarithms of the gamma function loses more digits than the normal distribution, whose
// quantiles are off by about (x x + 1) / (4 x degrees) of their value.
constexpr double kNormalDegrees = 1e6;

}  // namespace

double student_t_cdf(double x, double degrees) {
  if (degrees >= kNormalDegrees) {
    return normal_cdf(x);
  }
  const double sum = degrees + x * x;
  const double tails = incomplete_beta(degrees / sum, x * x / sum, degrees / 2, 0.5);
  return x < 0 ? tails / 2 : 1 - tails / 2;
}

double student_t_quantile(double probability, double degrees) {
  if (probability < 0.5) {
    return -student_t_quantile(1 - probability, degrees);
  }
  double low = 0;
  double high = 1;
  while (student_t_cdf(high, degrees) < probability) {
    low = high;
    high *= 2;
  }
  // Bisection needs no derivative, and ends: some 50 halvings are all that a double holds.
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2;
    (student_t_cdf(middle, degrees) < probability ? low : high) = middle;
  }
  return high;
}

}  // namespace plimsoll::statistics
