// Are means of a few instances as normal as margins take them to be?
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {

// Of standardized means z = (mean of N - mean of all) / their deviation, of many random samples.
struct MeansOfSamples {
  double skewness = 0;    // of a normal variable 0
  double tail_share = 0;  // beyond +-1.96: of a normal variable 0.05
};

// 2,000 samples of `count` values without replacement. Nothing for fewer than 30 values, which do not show it, and where none varies.
std::optional<MeansOfSamples> means_of_samples(std::span<const double> values, size_t count, Random& random);

}  // namespace plimsoll::query
