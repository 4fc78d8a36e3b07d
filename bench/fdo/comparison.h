// CPU time of several builds of one program, run in turn.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {

// What is slower by less is not held against a profile: goals are about what a run of the bench can see.
inline constexpr double kMaxSlowerPercent = 1;

// By build, the runs in the order of their rounds; in each round the builds run in random order. One round more, the first, counts
// for nothing.
Result<std::vector<std::vector<double>>> cpu_times(const std::vector<std::string>& builds,
                                                   const std::string& argument, int rounds);

// How many percent less CPU time than `base` takes, with its 95 % interval, pair by pair.
Interval percent_less(const std::vector<double>& base, const std::vector<double>& other);

// Which share of what `peer` saves a build saves, in percent of `base`'s CPU time in the same round: the ratio of two means, with its 95 %
// interval by Fieller's theorem (ratio_interval()). 0 where the peer saves nothing; unbounded where it is not known to save anything.
Interval percent_of_gain(const std::vector<double>& base, const std::vector<double>& other,
                         const std::vector<double>& peer);

// "95 %: 1.2 to 3.4".
std::string interval_text(const Interval& interval);

}  // namespace plimsoll::bench
