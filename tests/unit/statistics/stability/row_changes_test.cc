#include "statistics/stability/row_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/fleets/changed_windows.h"

namespace plimsoll::statistics {
namespace {

using fleets::ChangedWindows;
using fleets::ChangeTrials;

TEST(PermutationPValue, CountsWhatWasObservedAmongThePermutations) {
  EXPECT_DOUBLE_EQ(permutation_p_value(3, std::vector<double>{1, 2, 3, 4}), 3.0 / 5);
  EXPECT_DOUBLE_EQ(permutation_p_value(5, std::vector<double>{1, 2, 3, 4}), 1.0 / 5);
  EXPECT_DOUBLE_EQ(permutation_p_value(1, {}), 1);
}

TEST(RowChanges, ARowCountsByItsOwnScatterBesideTheLargestOfAnyRow) {
  RowChanges changes(2);
  for (const double change : {-3.0, -1.0, 1.0, 3.0}) {
    changes.add(std::vector{change, change * 10});
  }
  // A deviation of sqrt(5), or of 10 times that.
  EXPECT_EQ(changes.p_values(std::vector{3.0, 10.0}), (std::vector{3.0 / 5, 1.0}));
  EXPECT_EQ(changes.p_values(std::vector{6.0, 60.0}), (std::vector{1.0 / 5, 1.0 / 5}));
  // 4 is further from 0 than 3 is, but not from the center of all five: what was observed is one of them.
  EXPECT_EQ(changes.p_values(std::vector{4.0, 40.0}), (std::vector{2.0 / 5, 2.0 / 5}));
}

TEST(RowChanges, ARowThatNeverMovesHasNotChanged) {
  RowChanges changes(1);
  for (int i = 0; i < 100; ++i) {
    changes.add(std::vector{i % 2 == 0 ? 1e-16 : -1e-16});
  }
  EXPECT_EQ(changes.p_values(std::vector{5e-16}), std::vector{1.0});
}

// Family-wise, at the 2 % level that `diff` has: of 1,000 trials 20 may say so; one in ten thousand times 38 or more do.
TEST(ChangeByChance, OfIdenticalDistributionsSeldomCallsAnyRowChanged) {
  for (const bool same_machines : {true, false}) {
    const ChangeTrials trials = ChangedWindows::lognormal(0.16, same_machines).run(1000, 1, 1);
    EXPECT_LE(trials.any, 37) << same_machines;
    EXPECT_GE(trials.any, 5) << same_machines;  // and it does not sleep
  }
}

// One side of few machines, whose heavy tails a normal approximation would take for changes.
TEST(ChangeByChance, OfUnequalSidesSeldomCallsAnyRowChanged) {
  const ChangeTrials trials = ChangedWindows::lognormal(1.5, false).with_machines(20, 200).run(1000, 1, 2);
  EXPECT_LE(trials.any, 37);
}

TEST(ChangeByChance, AFunctionOfTwoPercentThatGainsATenthIsFoundAndNamedFirst) {
  const ChangeTrials trials = ChangedWindows::lognormal(0.16, false).with_machines(500, 500).run(200, 1.1, 3);
  EXPECT_GE(trials.found_first, 190);
}

}  // namespace
}  // namespace plimsoll::statistics
