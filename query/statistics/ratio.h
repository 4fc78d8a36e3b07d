// The ratio of two totals over machines, and its margin of error; docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "query/statistics/estimate.h"

namespace plimsoll::statistics {

// What one machine brings to an estimate about a group of rows (a job, a function, ...). A machine is the unit that is drawn:
// all of its profiles, whatever versions of its attributes they have, are one of these.
//
// Values are weighted: what the machine's hits stand for in the fleet and in the draws' intervals.
struct MachineSums {
  double numerator = 0;
  double denominator = 0;
  // Samples behind them, unweighted: the counts whose noise the within-machine part is made of.
  double numerator_samples = 0;
  double denominator_samples = 0;
  // Of the machine in its draw, in (0, 1]; nothing: it was not drawn, or by several probabilities. Then it counts as one of
  // very many, which makes the margin wider rather than narrower.
  std::optional<double> inclusion_probability = {};
};

// Sum of numerators / sum of denominators. Values must be finite and not negative. Costs a pass over the machines, and
// a quantile (10 us).
Estimate ratio(std::span<const MachineSums> machines);

}  // namespace plimsoll::statistics
