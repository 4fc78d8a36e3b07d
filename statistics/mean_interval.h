// The mean of independent values, and how well it is known.
#pragma once

#include <span>

namespace plimsoll::statistics {

struct MeanInterval {
  double mean = 0;
  double low = 0;  // 95 %
  double high = 0;
};

// By Student's t; of fewer than two values, unbounded on both sides.
MeanInterval mean_interval(std::span<const double> values);

}  // namespace plimsoll::statistics
