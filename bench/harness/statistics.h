// What repeated measurements come to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plimsoll::bench {

// The middle value, of an even number of them the mean of the middle two; 0 of none.
double median(std::vector<double> values);

// The value at `share` (0 to 1) of the way through the sorted values, one of them, rounded down: 0.99 is the 99th percentile; 0 of none.
double quantile(std::vector<double> values, double share);

struct Interval {
  double center = 0;  // what is estimated: a mean, or a median
  double low = 0;
  double high = 0;
};

// The mean of independent values and its 95 % interval, by Student's t; of fewer than two, unbounded on both sides.
Interval mean_interval(std::span<const double> values);

// The Hodges-Lehmann estimate of where independent values lie, the median of the means of all pairs of them (each with itself
// too), and its 95 % interval by Wilcoxon's signed ranks (normal approximation; Hollander, Wolfe, Chicken: Nonparametric
// Statistical Methods, 3.2 and 3.3). Right where values scatter alike on both sides; a few that lie far off hardly move it. Of
// fewer than six, unbounded. Takes memory for n (n + 1) / 2 values.
Interval hodges_lehmann_interval(std::span<const double> values);

// The ratio of the means of pairs (x, y), mean x / mean y, and its 95 % interval by Fieller's theorem (Fieller, "Some problems in interval
// estimation", Journal of the Royal Statistical Society B 16, 1954): all ratios r at which the mean of x - r y is within what Student's t
// allows of 0. Unbounded where the mean of y is not known to differ from 0, of fewer than two pairs, and of unlike numbers of x and y; the
// center is 0 where the mean of y is not above 0.
Interval ratio_interval(std::span<const double> x, std::span<const double> y);

struct Point {
  double x = 0;
  double y = 0;
};

// y = start + slope * x.
struct Line {
  double start = 0;
  double slope = 0;
};

// Through the two points; without a slope where they have one x.
Line line_through(const Point& first, const Point& second);

// Calls each of `contenders` in turn, `rounds` times, so that whatever else the machine does meets all of them alike.
// Returns the median of the values of each.
std::vector<double> interleaved_medians(int rounds, std::span<const std::function<double()>> contenders);

// Makes the compiler believe that somebody looks at a result, so that it computes it.
void keep(uint64_t result);

// CPU time of the calling thread.
int64_t thread_cpu_ns();

}  // namespace plimsoll::bench
