// The delete-a-group jackknife: the variance of any smooth function of totals, from sums by group of machines. For whole
// views, whose rows are too many to be linearized one by one; docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "statistics/design.h"

namespace plimsoll::statistics {

constexpr size_t kJackknifeGroups = 64;

// Immutable; borrows nothing. Machines are dealt out to groups at random, as evenly as can be in each stratum. A cell is a
// stratum's part of a group: rows are to be summed by cell, as machine groups of an AggregateRequest.
class Jackknife {
 public:
  explicit Jackknife(const Design& design, uint64_t seed, size_t groups = kJackknifeGroups);

  size_t machines() const { return cell_of_.size(); }
  size_t groups() const { return groups_; }
  size_t cells() const { return dilutions_.size(); }
  uint32_t cell_of(size_t machine) const { return cell_of_[machine]; }

  // A row's sums by cell to its total without each group, the rest being weighted up to stand for it. `totals` has a place for
  // each group. Deviations from the whole total are shrunk where so many machines were drawn that less is left to chance.
  // Costs a pass over the cells.
  void replicate(std::span<const double> cell_sums, std::span<double> totals) const;

  // Of a function that is `value` of all, and `replicates` without each group.
  Spread spread(double value, std::span<const double> replicates) const;
  // What the function of all is above its expectation of an endless sample, on average: what is of order 1 / machines.
  double bias(double value, std::span<const double> replicates) const;

 private:
  size_t groups_;
  double degrees_;
  std::vector<uint32_t> cell_of_;
  // By cell, stratum-major: what the rest of the stratum is multiplied by without it (1 where the cell is empty or alone), and
  // by stratum: what deviations are multiplied by.
  std::vector<double> dilutions_;
  std::vector<double> shrinkages_;
};

}  // namespace plimsoll::statistics
