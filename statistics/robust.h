// Middles and spreads that a few large values do not move.
#pragma once

#include <span>

namespace plimsoll::statistics {

// The value below which the share `share` of ascending values lies, interpolated between neighbours (R's type 7). 0 of none.
double quantile_of_sorted(std::span<const double> ascending, double share);

// The middle value; reorders. 0 of none.
double median_of(std::span<double> values);

// The standard deviation of a normal distribution with these deviations from its middle: 1.4826 times their median size. Reorders,
// and replaces deviations by their size.
double robust_deviation(std::span<double> deviations);

}  // namespace plimsoll::statistics
