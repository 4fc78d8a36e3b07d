// The functions behind the distributions of this folder.
#pragma once

namespace plimsoll::statistics {

// The regularized incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun, Handbook of Mathematical Functions,
// 26.5.8); `y` is 1 - x, which the caller knows without cancellation. Small values keep their relative precision, about 1e-12.
double incomplete_beta(double x, double y, double a, double b);

// The probability that a normal variable is at most `x`.
double normal_cdf(double x);

}  // namespace plimsoll::statistics
