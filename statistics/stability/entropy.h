// Entropy of a profile: how many functions its time is spread over. docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <span>

#include "statistics/estimate.h"
#include "statistics/jackknife.h"

namespace plimsoll::statistics {

// -sum p log2 p, in bits, over the shares of `values` (not negative) in their sum; 0 of none. Of samples it comes out too small:
// compare entropies of equally many, or correct them.
double entropy(std::span<const double> values);

// By how much the entropy of so many independent samples of so many entries is too small, in bits: (entries - 1) / (2 samples
// ln 2), as Miller and Madow have it. Right where samples are many times more than entries.
double missing_entropy(size_t entries, double samples);

// The entropy of a view with its bias taken off and its margin, from the sums of `rows` rows by the jackknife's cells, row by
// row. Machines that differ and counts that come at random are corrected for alike; what no machine had a sample of is not.
// Takes rows x groups logarithms.
Estimate entropy(const Jackknife& jackknife, std::span<const double> cell_sums, size_t rows);

}  // namespace plimsoll::statistics
