// Whether single rows of two windows differ by more than chance, all rows looked at being one family.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "statistics/stability/permutation.h"

namespace plimsoll::statistics {

// The share of permutations that come to as much as what was observed, which is one of them.
double permutation_p_value(double observed, std::span<const double> permuted);

// Collects what rows change by in permutations. By Westfall and Young (1993), single step: each row's change in its own standard
// deviations, beside the largest of any row.
class RowChanges {
 public:
  explicit RowChanges(size_t rows) : rows_(rows) {}

  // Of one permutation, a value for each row; such that 1e-12 is nothing.
  void add(std::span<const double> changes);

  // The chance of any row changing so much without a cause, for each row: where it is below 0.05, all rows that are said to have
  // changed did, in 95 of 100 comparisons (family-wise).
  std::vector<double> p_values(std::span<const double> observed) const;

 private:
  struct Scatter {
    double center = 0;
    double standard_deviation = 0;
    double deviations(double change) const;
  };
  std::vector<Scatter> scatters_with(std::span<const double> observed) const;

  size_t rows_;
  std::vector<double> changes_;  // permutation by permutation
};

struct ChangeRequest {
  size_t rows = 0;  // that the windows' profiles have, the whole not counted
  size_t permutations = 1000;
  uint64_t seed = 1;
};

struct ChangesByChance {
  size_t units = 0;  // that changed places: machines, or bundles of them; below 8, too few to tell
  std::vector<double> p_values;  // by row, as above
};

// Of rows over a whole: the windows' profiles have `rows` rows, and then, last, what each of them is divided by. Costs what
// WindowPermutation does.
ChangesByChance change_by_chance(const Window& x, const Window& y, const ChangeRequest& request);

}  // namespace plimsoll::statistics
