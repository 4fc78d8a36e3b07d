// Which of many tests show something, when some of them do by chance.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plimsoll::statistics {

// The places of the p values that are rejected, ascending, so that on average at most the share `rate` of them is false: Benjamini and
// Hochberg, J. Royal Statistical Society B 57 (1995). Holds for independent tests, and for those that depend on each other positively.
// Of `tests` made in all, if more were made than there are p values: those count as 1.
std::vector<size_t> benjamini_hochberg(std::span<const double> p, double rate, size_t tests = 0);

// The smallest level at which each of several tests is rejected when hardly any is to be rejected falsely: the probability that at least one
// of them comes out like this by chance, whatever their dependence. Holm, Scandinavian J. of Statistics 6 (1979). In the order of `p`.
std::vector<double> holm(std::span<const double> p);

}  // namespace plimsoll::statistics
