// Whether values of one sample are larger than those of another, whatever their distribution.
#pragma once

#include <span>

namespace plimsoll::statistics {

struct RankTest {
  double z = 0;  // standard deviations by which the first sample is larger than chance has it
  double auc =
      0.5;  // the probability that a value of the first is larger than one of the second, ties counting half

  // One-sided: of values as large as these, or larger, by chance.
  double p() const;
};

// Mann and Whitney, Annals of Mathematical Statistics 18 (1947); the normal approximation with the variance for ties (Lehmann,
// Nonparametrics, 1.4). Both ascending. Without values on a side: no difference.
RankTest mann_whitney(std::span<const double> first, std::span<const double> second);

}  // namespace plimsoll::statistics
