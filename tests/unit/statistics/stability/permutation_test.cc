#include "statistics/stability/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/statistics/stability/simulated_windows.h"

namespace plimsoll::statistics {
namespace {

using ::testing::ElementsAre;

// How often each total of window x comes out, of one row.
std::map<double, int> totals_of_x(const Machines& x, const Machines& y, size_t permutations) {
  std::map<double, int> counts;
  WindowPermutation(x.window(), y.window(), 1, 3).run(permutations, [&](auto totals, auto) {
    ++counts[totals[0]];
  });
  return counts;
}

TEST(WindowPermutation, SwapsTheTwoProfilesOfAMachine) {
  // Three machines, eight ways: x has 1 or 10, and 2 or 20, and 4 or 40.
  const Machines x{{1, 2, 3}, {0, 0, 0}, {1, 2, 4}};
  const Machines y{{1, 2, 3}, {0, 0, 0}, {10, 20, 40}};
  const std::map<double, int> counts = totals_of_x(x, y, 8000);
  ASSERT_EQ(counts.size(), 8);
  for (const double total : {7, 16, 25, 34, 43, 52, 61, 70}) {
    EXPECT_NEAR(counts.at(total), 1000, 120) << total;  // four standard deviations
  }
}

TEST(WindowPermutation, DealsStrangersOutWithinTheirStratum) {
  // Stratum 0: two of four machines; stratum 1: one of two.
  const Machines x{{1, 2, 5}, {0, 0, 1}, {1, 2, 1000}};
  const Machines y{{3, 4, 6}, {0, 0, 1}, {4, 8, 2000}};
  const std::map<double, int> counts = totals_of_x(x, y, 12'000);
  ASSERT_EQ(counts.size(), 12);
  for (const double pair : {3, 5, 9, 6, 10, 12}) {
    EXPECT_NEAR(counts.at(1000 + pair), 1000, 125) << pair;
    EXPECT_NEAR(counts.at(2000 + pair), 1000, 125) << pair;
  }
}

TEST(WindowPermutation, AMachineOfTheSmallerWindowStandsForMore) {
  // Two machines in x for one in y: of weights 1 and 2.
  const Machines x{{1, 2}, {0, 0}, {10, 20}};
  const Machines y{{3}, {0}, {2 * 30}};
  std::map<std::pair<double, double>, int> counts;
  WindowPermutation(x.window(), y.window(), 1, 3).run(3000, [&](auto in_x, auto in_y) {
    ++counts[{in_x[0], in_y[0]}];
  });
  ASSERT_EQ(counts.size(), 3);
  EXPECT_NEAR((counts[{30, 60}]), 1000, 110);
  EXPECT_NEAR((counts[{40, 40}]), 1000, 110);
  EXPECT_NEAR((counts[{50, 20}]), 1000, 110);
}

TEST(WindowPermutation, LeavesWhereTheyAreWhoHasNobodyToTradeWith) {
  const Machines x{{1, 2}, {0, 1}, {5, 7}};
  const Machines y{{3}, {0}, {11}};
  const WindowPermutation permutation(x.window(), y.window(), 1, 3);
  EXPECT_EQ(permutation.units(), 2);
  EXPECT_THAT(permutation.observed().x, ElementsAre(12));
  EXPECT_THAT(totals_of_x(x, y, 100), ::testing::SizeIs(2));
}

TEST(WindowPermutation, OfEmptyWindowsIsNone) {
  const WindowPermutation permutation(Window{}, Window{}, 2, 3);
  EXPECT_EQ(permutation.units(), 0);
  permutation.run(3, [](auto x, auto y) {
    EXPECT_THAT(x, ElementsAre(0, 0));
    EXPECT_THAT(y, ElementsAre(0, 0));
  });
}

// Bundles move as a permutation of machines does: the same mean and about the same spread.
TEST(WindowPermutation, OfManyMachinesInBundlesSpreadsAlike) {
  const WindowedFleet fleet(4000, 3, 1);
  std::mt19937_64 random(2);
  const Machines x = fleet.observe(fleet.draw(2000, random), random);
  const Machines y = fleet.observe(fleet.draw(2000, random), random);
  const WindowPermutation permutation(x.window(), y.window(), fleet.rows(), 5);
  EXPECT_LE(permutation.units(), kPermutationUnits + 10);
  double sum = 0;
  double squares = 0;
  constexpr int kPermutations = 2000;
  permutation.run(kPermutations, [&](auto in_x, auto in_y) {
    const double difference = in_y[0] - in_x[0];
    sum += difference;
    squares += difference * difference;
    EXPECT_NEAR(in_x[0] + in_y[0], permutation.observed().x[0] + permutation.observed().y[0], 1e-3 * in_x[0]);
  });
  // Machines in both bring (y - x)^2 each; those in one, about twice their variance.
  const double mean = (permutation.observed().x[0] + permutation.observed().y[0]) / 4000;
  double expected = 0;
  size_t j = 0;
  for (size_t i = 0; i < 2000; ++i) {
    const double in_x = x.values[i * 3];
    while (j < 2000 && y.machines[j] < x.machines[i]) {
      expected += std::pow(y.values[j * 3] - mean, 2);
      ++j;
    }
    if (j < 2000 && y.machines[j] == x.machines[i]) {
      expected += std::pow(y.values[j * 3] - in_x, 2);
      ++j;
    } else {
      expected += std::pow(in_x - mean, 2);
    }
  }
  for (; j < 2000; ++j) {
    expected += std::pow(y.values[j * 3] - mean, 2);
  }
  const double variance = squares / kPermutations - std::pow(sum / kPermutations, 2);
  EXPECT_NEAR(sum / kPermutations / std::sqrt(expected), 0, 0.3);
  EXPECT_NEAR(variance / expected, 1, 0.2);  // the bundles are one draw of many
}

}  // namespace
}  // namespace plimsoll::statistics
