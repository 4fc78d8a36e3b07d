// The metric of a fleet and how well a sample of instances knows it (WSMeter, Lee et al., ASPLOS 2018, section 4):
//   M = sum over jobs of w_j m_j,   w_j: share of the quota,   m_j: mean performance over that on the current platform
//   V = sum w_j^2 s_j^2 / N_j (1 - N_j / n_j)
// with s_j between the N_j instances that were observed, of n_j that there are. A margin is t sqrt(V), of as many degrees of freedom as
// V^2 / sum (V_j^2 / f_j) (Satterthwaite, Biometrics Bulletin 2, 1946; Welch, Biometrika 34, 1947), where
//   f_j = 2 / (2 / (N_j - 1) + (k_j - 3) / N_j)
// is that of a variance whose own is s^4 (2 / (N - 1) + (k - 3) / N), k being the kurtosis of the job (Cramer, Mathematical Methods of Statistics,
// 1946, 27.4): N - 1 where it is 3, as of a normal variable. Four instances do not show their kurtosis; the current fleet's many do.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace plimsoll::query {

struct Spread {
  int64_t count = 0;
  double mean = 0;
  double variance = 0;  // of one, with count - 1 below; 0 for fewer than 2
};
Spread spread_of(std::span<const double> values);

inline constexpr double kNormalKurtosis = 3;
// The fourth central moment over the square of the second, at least 3. 3 also for fewer than 30 values, which do not show it, and where none varies.
double kurtosis_of(std::span<const double> values);

// A part of the metric's variance, and the degrees of freedom that it is known with.
struct VariancePart {
  double variance = 0;
  double degrees = 1;  // above 0
};

struct MetricEstimate {
  double value = 0;
  double deviation = 0;
  double degrees = 0;  // infinity where nothing varies
  double margin = 0;   // half of the 95 % interval

  double low() const { return value - margin; }
  double high() const { return value + margin; }
};

// Puts a value and the parts of its variance together.
class MetricSum {
 public:
  void add_value(double value) { value_ += value; }
  void add_variance(VariancePart part);
  MetricEstimate estimate() const;

 private:
  double value_ = 0;
  double variance_ = 0;
  double squares_ = 0;  // of the parts, over their degrees
};

// What N instances of a job, observed without replacement out of `population`, add to the variance of the metric; 0: out of very many. At least
// one degree of freedom.
VariancePart part_of_sample(double weight, const Spread& sample, int64_t population,
                            double kurtosis = kNormalKurtosis);

}  // namespace plimsoll::query
