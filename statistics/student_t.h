// Student's t distribution, and the normal one as its limit.
#pragma once

namespace plimsoll::statistics {

// The probability that a t variable of `degrees` degrees of freedom (above 0, whole or not; infinity: a normal variable) is
// at most `x`. Exact to about 1e-9; from a million degrees on the normal distribution stands in, within 1e-6.
double student_t_cdf(double x, double degrees);

// The x with student_t_cdf(x, degrees) = probability, for a probability within (0, 1). Exact as the former is; takes
// some 50 evaluations of it, 10 us.
double student_t_quantile(double probability, double degrees);

}  // namespace plimsoll::statistics
