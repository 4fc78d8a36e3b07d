// How much slower a program becomes under profiling, and how often one may sample then. docs/scheduling.md has the method.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"

namespace plimsoll::scheduler {

struct Slowdown {
  size_t pairs = 0;
  double mean = 0;           // by which part runs take longer: 0.01 is 1 %; below 0 where they took less
  double upper_limit = 0;    // of a one-sided confidence interval for it
  double log_deviation = 0;  // standard deviation of the logarithms of the pairs' ratios
};

// Of runs of the same work, `with` profiling and `without`, the i-th of each close together in time. The mean is the geometric one of the
// ratios, its limit by Student's t of their logarithms. Fails with kInvalid where these are not as many, fewer than two, or one is not above
// 0, or the confidence is not within (0.5, 1).
Result<Slowdown> slowdown_of(std::span<const double> without, std::span<const double> with,
                             double confidence);

// The place of the highest rate that is permitted, of slowdowns by ascending rate: that before the first one whose upper limit is over `most`.
// Nothing where the first one is.
//
// Hypotheses are tested in an order set beforehand, up to the first that cannot be rejected: the chance that any rate is permitted wrongly
// is 1 - confidence, not that for each rate, and needs no correction (Maurer, Hothorn and Lehmacher, 1995).
std::optional<size_t> highest_permitted(std::span<const Slowdown> by_rate, double most);

// About how many pairs it would take until a slowdown with such a mean and deviation has its upper limit at `most`. Nothing where the mean
// is not below that: no number would do.
std::optional<size_t> pairs_needed(const Slowdown& slowdown, double most, double confidence);

}  // namespace plimsoll::scheduler
