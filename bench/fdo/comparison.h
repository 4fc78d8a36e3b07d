// CPU time of several builds of one program, run in turn.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {

// By build, the runs in the order of their rounds; in each round the builds run in random order. One round more, the first, counts
// for nothing.
Result<std::vector<std::vector<double>>> cpu_times(const std::vector<std::string>& builds,
                                                   const std::string& argument, int rounds);

// How many percent less CPU time than `base` takes, with its 95 % interval, pair by pair.
Interval percent_less(const std::vector<double>& base, const std::vector<double>& other);

// Which share of the gain of `peer` over `base` a build has, in percent; of medians. 0 where the peer gains nothing.
double percent_of_gain(const std::vector<double>& base, const std::vector<double>& other,
                       const std::vector<double>& peer);

}  // namespace plimsoll::bench
