#include "statistics/student_t.h"

#include <cmath>

namespace plimsoll::statistics {
namespace {

// From here on the difference of logarithms of the gamma function loses more digits than the normal distribution, whose
// quantiles are off by about (x x + 1) / (4 x degrees) of their value.
constexpr double kNormalDegrees = 1e6;

// Numerators and denominators of a continued fraction must not be zero.
double away_from_zero(double value) {
  constexpr double kTiny = 1e-300;
  return std::abs(value) < kTiny ? kTiny : value;
}

// The continued fraction of the incomplete beta function, by Lentz's method; quick where x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kPrecision = 1e-15;
  constexpr int kMaxTerms = 100'000;
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < kPrecision) {
      break;
    }
  }
  return fraction;
}

// std::lgamma() writes the sign of the gamma function into a global variable: a race of threads.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The regularized incomplete beta function I_x(a, b); `y` is 1 - x, which the caller knows without cancellation.
double incomplete_beta(double x, double y, double a, double b) {
  if (x <= 0 || y <= 0) {
    return x <= 0 ? 0 : 1;
  }
  const double front =
      std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log(y));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                   : 1 - front * beta_fraction(y, b, a) / b;
}

double normal_cdf(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

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
