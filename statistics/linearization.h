// Totals, shares and ratios of events over sampled machines with their margins of error, by exact linearization: for the
// rows that are shown. docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>

#include "statistics/design.h"
#include "statistics/estimate.h"
#include "statistics/linearized_row.h"

namespace plimsoll::statistics {

// A margin between machines needs as many that have any of the row, or all of fewer: what a handful of machines has, another
// draw may have twice or not at all.
constexpr size_t kMinContributors = 12;
// With fewer of them a margin is labelled so (MarginKind::kFewMachines); the second of what most machines have none of.
constexpr size_t kEnoughContributors = 40;
constexpr size_t kEnoughOfAMinority = 100;

// What a margin is that rests on so many machines with samples, of all those that were looked at.
MarginKind kind_between_machines(size_t contributors, size_t machines);

// Each costs some passes over the machines, and a quantile (10 us). An estimate's machines are those with samples of the row; of a
// share, those with samples of all else, where they are fewer.
//
// Sum of numerators over sum of denominators, where the numerator is a part of the denominator: samples of one are among those
// of the other.
Estimate share(const Design& design, const RowSums& row);
// The same of two events that are counted apart (IPC).
Estimate ratio(const Design& design, const RowSums& row);
// The same per unit of denominators that are known exactly (time); their samples are not looked at.
Estimate rate(const Design& design, const RowSums& row);
// The sum of numerators; denominators are not looked at.
Estimate total(const Design& design, const RowSums& row);

}  // namespace plimsoll::statistics
