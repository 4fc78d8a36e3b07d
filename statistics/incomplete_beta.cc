#include "statistics/incomplete_beta.h"

#include <cmath>

namespace plimsoll::statistics {
namespace {

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

}  // namespace

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

}  // namespace plimsoll::statistics
