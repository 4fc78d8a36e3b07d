#include "statistics/stability/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/statistics/stability/simulated_windows.h"

namespace plimsoll::statistics {
namespace {

constexpr size_t kComparedRows = 30;

Comparison compare_windows(const Machines& x, const Machines& y, uint64_t seed) {
  return compare(x.window(), y.window(),
                 {.rows = kComparedRows, .top = 10, .permutations = 199, .seed = seed});
}

// Of windows between which nothing has changed, how many are called changed at the 5 % level.
struct Alarms {
  int comparisons = 0;
  int distance = 0;
  int entropy = 0;
  int any_row = 0;

  void add(const Comparison& comparison) {
    ++comparisons;
    distance += comparison.distance.p_value <= 0.05 ? 1 : 0;
    entropy += comparison.entropy_change.p_value <= 0.05 ? 1 : 0;
    any_row += std::ranges::any_of(comparison.rows, [](const RowChange& row) { return row.p_value <= 0.05; })
                   ? 1
                   : 0;
  }
};

// Of 300 comparisons 15 may be, and of ten thousand tests one has 30 or more.
void expect_few(const Alarms& alarms) {
  ASSERT_EQ(alarms.comparisons, 300);
  EXPECT_LE(alarms.distance, 30);
  EXPECT_LE(alarms.entropy, 30);
  EXPECT_LE(alarms.any_row, 30);
  EXPECT_GE(alarms.distance + alarms.entropy + alarms.any_row, 15);  // and it does not sleep
}

TEST(Comparison, OfTheSameMachinesSeldomCallsChanceAChange) {
  const WindowedFleet fleet(1000, kComparedRows, 1);
  std::mt19937_64 random(2);
  Alarms alarms;
  for (uint64_t i = 0; i < 300; ++i) {
    const std::vector<uint32_t> machines = fleet.draw(40, random);
    alarms.add(compare_windows(fleet.observe(machines, random), fleet.observe(machines, random), i));
  }
  expect_few(alarms);
}

TEST(Comparison, OfOtherMachinesSeldomCallsChanceAChange) {
  const WindowedFleet fleet(1000, kComparedRows, 1);
  std::mt19937_64 random(3);
  Alarms alarms;
  for (uint64_t i = 0; i < 300; ++i) {
    alarms.add(compare_windows(fleet.observe(fleet.draw(60, random), random),
                               fleet.observe(fleet.draw(40, random), random), i));
  }
  expect_few(alarms);
}

TEST(Comparison, FindsTheFunctionThatChanged) {
  const WindowedFleet fleet(1000, kComparedRows, 1);
  std::mt19937_64 random(4);
  const std::vector<uint32_t> machines = fleet.draw(60, random);
  const Machines x = fleet.observe(machines, random);
  const Machines y = fleet.observe(machines, random, 4, 1.6);
  const Comparison comparison = compare_windows(x, y, 5);
  EXPECT_LT(comparison.distance.p_value, 0.01);
  EXPECT_GT(comparison.distance.observed, comparison.distance.upper);
  EXPECT_GT(comparison.distance.upper, comparison.distance.expected);
  const auto changed = std::ranges::find(comparison.rows, 4, &RowChange::row);
  ASSERT_NE(changed, comparison.rows.end());
  EXPECT_LT(changed->p_value, 0.01);
  EXPECT_GT(changed->share_y, 1.3 * changed->share_x);
}

TEST(Comparison, OfAWindowWithItselfFindsNothing) {
  const WindowedFleet fleet(100, kComparedRows, 1);
  std::mt19937_64 random(4);
  const Machines x = fleet.observe(fleet.draw(50, random), random);
  const Comparison comparison = compare_windows(x, x, 5);
  EXPECT_EQ(comparison.distance.observed, 0);
  EXPECT_EQ(comparison.distance.p_value, 1);
  EXPECT_EQ(comparison.entropy_change.p_value, 1);
  for (const RowChange& row : comparison.rows) {
    EXPECT_EQ(row.p_value, 1);
  }
}

TEST(Comparison, IsTheSameEveryTime) {
  const WindowedFleet fleet(100, kComparedRows, 1);
  std::mt19937_64 random(4);
  const Machines x = fleet.observe(fleet.draw(50, random), random);
  const Machines y = fleet.observe(fleet.draw(50, random), random);
  EXPECT_EQ(compare_windows(x, y, 5).distance.p_value, compare_windows(x, y, 5).distance.p_value);
  EXPECT_EQ(compare_windows(x, y, 5).distance.upper, compare_windows(x, y, 5).distance.upper);
}

TEST(Comparison, SharesAreOfAllNotOfTheTop) {
  Machines x{{1}, {0}, std::vector<double>(kComparedRows, 1)};
  const Comparison comparison = compare_windows(x, x, 1);
  ASSERT_EQ(comparison.rows.size(), 10);
  EXPECT_DOUBLE_EQ(comparison.rows[0].share_x, 1.0 / kComparedRows);
}

}  // namespace
}  // namespace plimsoll::statistics
