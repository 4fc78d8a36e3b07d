// Two windows of machines between which one function changes, or nothing does; and what is made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "statistics/stability/permutation.h"
#include "tests/fleets/fleet.h"

namespace plimsoll::fleets {

struct ChangeTrials {
  size_t trials = 0;
  size_t any = 0;  // said that some function has changed
  size_t found_first =
      0;  // said it of the one that did, which then has the largest change of all that it is said of
};

// Machines with 2,000 samples each, of thirty functions; the second has 2 % of them, and is the one that changes. A machine has more or
// less of each function than others.
class ChangedWindows {
 public:
  // By factors whose logarithm is normal, with this coefficient of variation. The machines of both windows are the same, and keep
  // their factors, or others.
  static ChangedWindows lognormal(double variation, bool same_machines);
  // Drawn from measured ones, for each function its own.
  static ChangedWindows measured(std::vector<std::vector<double>> factors, bool same_machines);

  // 100 a side unless said.
  ChangedWindows with_machines(size_t base, size_t other) const;

  // Makes new windows for each trial, and judges them at the level of query/views/diff.h, by 400 permutations. The function takes
  // `factor` times as much in the second.
  ChangeTrials run(size_t trials, double factor, uint64_t seed) const;

 private:
  struct Profiles;
  explicit ChangedWindows(bool same_machines) : same_machines_(same_machines) {}

  double factor_of(size_t function, Random& random) const;
  std::vector<double> shares_of_machine(Random& random) const;
  Profiles observe(uint32_t first_machine, const std::vector<std::vector<double>>& shares, double factor,
                   Random& random) const;

  bool same_machines_;
  double sigma_ = 0;
  std::vector<std::vector<double>> measured_;
  size_t base_machines_ = 100;
  size_t other_machines_ = 100;
};

}  // namespace plimsoll::fleets
