// What changed from one selection to another, such as a function's share from yesterday to today, with its margin of error.
// docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>

#include "statistics/design.h"
#include "statistics/estimate.h"
#include "statistics/linearized_row.h"

namespace plimsoll::statistics {

// One of two selections. A machine of the design that has nothing in it has zeros.
struct Side {
  RowSums sums;
  size_t machines = 0;  // of the design's, those that the selection is about
};

// The statistic of `other` less that of `base`. The design is of the machines of either; one that is in both counts once, so that
// what it always has more of than others cancels out. No value where either denominator is 0. The estimate's machines are those with
// samples of the row (of a share, of the rarer of the row and all else), in one of the sides, summed over both.
//
// Counts of the two are taken to be different samples: where one selection is part of the other, the margin is too wide.
Estimate difference(Statistic statistic, const Design& design, const Side& base, const Side& other);

}  // namespace plimsoll::statistics
