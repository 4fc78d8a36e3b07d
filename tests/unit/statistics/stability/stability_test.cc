#include "statistics/stability/stability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "statistics/stability/distance.h"
#include "tests/unit/statistics/stability/simulated_windows.h"

namespace plimsoll::statistics {
namespace {

constexpr size_t kRows = 12;
constexpr uint32_t kFleet = 2000;

// Sums by machine of a window's rows, drawn from the whole fleet.
class Profile {
 public:
  explicit Profile(const Machines& window, double fleet = kFleet)
      : design_(std::vector<SampledMachine>(window.machines.size(),
                                            {0, static_cast<double>(window.machines.size()) / fleet})),
        columns_(kRows + 1, std::vector<double>(window.machines.size())) {
    for (size_t i = 0; i < window.values.size(); ++i) {
      columns_[i % kRows][i / kRows] = window.values[i];
      columns_[kRows][i / kRows] += window.values[i];
    }
  }

  SamplingNoise noise() const {
    std::vector<RowSums> rows;
    for (size_t row = 0; row < kRows; ++row) {
      rows.push_back({columns_[row], columns_[kRows], columns_[row], columns_[kRows]});
    }
    return {design_, rows};
  }

 private:
  Design design_;
  std::vector<std::vector<double>> columns_;
};

std::vector<double> totals(const Machines& window) {
  std::vector<double> totals(kRows);
  for (size_t i = 0; i < window.values.size(); ++i) {
    totals[i % kRows] += window.values[i];
  }
  return totals;
}

// The mean distance of two independent draws of so many machines.
double mean_distance(const WindowedFleet& fleet, size_t machines, std::mt19937_64& random) {
  double sum = 0;
  constexpr int kRuns = 60;
  for (int run = 0; run < kRuns; ++run) {
    const Machines x = fleet.observe(fleet.draw(machines, random), random);
    const Machines y = fleet.observe(fleet.draw(machines, random), random);
    sum += manhattan_distance(totals(x), totals(y), kRows);
  }
  return sum / kRuns;
}

TEST(SamplingNoise, ForeseesHowFarDrawsAreApart) {
  const WindowedFleet fleet(kFleet, kRows, 1);
  std::mt19937_64 random(2);
  const SamplingNoise noise = Profile(fleet.observe(fleet.draw(300, random), random)).noise();
  EXPECT_NEAR(noise.fleet(), kFleet, 1e-6);
  for (const size_t machines : {50, 100, 300, 1000}) {
    const double found = mean_distance(fleet, machines, random);
    EXPECT_NEAR(noise.distance(static_cast<double>(machines), 1) / found, 1, 0.12) << machines;
  }
}

TEST(SamplingNoise, OfAllMachinesIsOfCountsAlone) {
  const WindowedFleet fleet(kFleet, kRows, 1);
  std::mt19937_64 random(2);
  const SamplingNoise noise = Profile(fleet.observe(fleet.draw(300, random), random)).noise();
  const double left = noise.distance(kFleet, 1);
  EXPECT_NEAR(left / mean_distance(fleet, kFleet, random), 1, 0.15);
  EXPECT_NEAR(noise.distance(kFleet, 4), left / 2, 1e-9);
}

TEST(SamplingNoise, SaysHowManyMachinesItTakes) {
  const WindowedFleet fleet(kFleet, kRows, 1);
  std::mt19937_64 random(2);
  const SamplingNoise noise = Profile(fleet.observe(fleet.draw(100, random), random)).noise();
  const double now = noise.distance(100, 1);
  const auto needed = noise.machines_for(now / 2);
  ASSERT_TRUE(needed);
  // Four times as many, less what a small fleet saves; and as many more as these may be unlike the others.
  EXPECT_GT(*needed, 300);
  EXPECT_LT(*needed, 500);
  EXPECT_LE(noise.distance(static_cast<double>(*needed), 1), now / 2);
  EXPECT_GT(noise.distance(static_cast<double>(*needed), 1), now / 2 * (1 - 2 * noise.relative_error()));
  EXPECT_FALSE(noise.machines_for(noise.distance(kFleet, 1) / 2));
}

TEST(SamplingNoise, MoreMinutesMendOnlyWhatCountsDo) {
  const WindowedFleet fleet(kFleet, kRows, 1);
  std::mt19937_64 random(2);
  const SamplingNoise noise = Profile(fleet.observe(fleet.draw(100, random), random)).noise();
  const double now = noise.distance(100, 1);
  const double endless = noise.distance(100, 1e9);
  EXPECT_LT(endless, now);
  EXPECT_FALSE(noise.time_for(endless * 0.99));
  const auto time = noise.time_for((now + endless) / 2);
  ASSERT_TRUE(time);
  EXPECT_GT(*time, 1);
  EXPECT_LE(noise.distance(100, *time), (now + endless) / 2 * 1.0001);
  EXPECT_EQ(*noise.time_for(now * 1.01), 1);
}

// Machines of which nobody knows how likely they were drawn.
TEST(SamplingNoise, OfUnknownProbabilitiesIsOfAnEndlessFleet) {
  const WindowedFleet fleet(kFleet, kRows, 1);
  std::mt19937_64 random(2);
  const SamplingNoise noise =
      Profile(fleet.observe(fleet.draw(100, random), random), std::numeric_limits<double>::infinity())
          .noise();
  EXPECT_EQ(noise.fleet(), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(noise.distance(400, 1), noise.distance(100, 1) / 2, 1e-9);
}

Comparison compare_windows(const Window& x, const Window& y) {
  return compare(x, y, {.rows = kRows, .top = kRows, .permutations = 399, .seed = 1});
}

class Judging : public ::testing::Test {
 protected:
  Verdict judge_two_windows(size_t machines, double factor, const Tolerance& tolerance) {
    const std::vector<uint32_t> drawn = fleet_.draw(machines, random_);
    const Machines x = fleet_.observe(drawn, random_);
    const Machines y = fleet_.observe(drawn, random_, 0, factor);
    return judge(compare_windows(x.window(), y.window()), Profile(y).noise(), tolerance);
  }

  WindowedFleet fleet_{kFleet, kRows, 1};
  std::mt19937_64 random_{7};
};

TEST_F(Judging, EnoughMachinesAreStable) {
  const Verdict verdict = judge_two_windows(500, 1, {.distance = 0.1});
  EXPECT_EQ(verdict.stability, Stability::kStable);
  EXPECT_LT(verdict.noise, 0.1);
  EXPECT_FALSE(verdict.machines_needed);
  EXPECT_FALSE(verdict.times_longer);
}

TEST_F(Judging, ANoisyProfileIsToldWhatItTakes) {
  const Tolerance tolerance{.distance = 0.05};
  const Verdict verdict = judge_two_windows(200, 1, tolerance);
  EXPECT_EQ(verdict.stability, Stability::kNoisy);
  EXPECT_GT(verdict.noise, 0.05);
  ASSERT_TRUE(verdict.machines_needed);
  EXPECT_FALSE(verdict.times_longer);  // machines differ by more than that
}

// These machines, and as many more as they ask for.
TEST_F(Judging, WithTheMachinesThatItAskedForItIsStableInNineOfTenTrials) {
  constexpr int kTrials = 300;
  const Tolerance tolerance{.distance = 0.06};
  int stable = 0;
  double asked = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<uint32_t> order = fleet_.draw(kFleet, random_);
    std::ranges::shuffle(order, random_);
    const auto noise_of_first = [&](size_t machines) {
      std::vector<uint32_t> first(order.begin(), order.begin() + static_cast<ptrdiff_t>(machines));
      std::ranges::sort(first);
      return Profile(fleet_.observe(first, random_)).noise();
    };
    const auto needed = noise_of_first(100).machines_for(tolerance.distance);
    ASSERT_TRUE(needed);
    const SamplingNoise after = noise_of_first(*needed);
    stable += after.distance(static_cast<double>(*needed), 1) <= tolerance.distance ? 1 : 0;
    asked += static_cast<double>(*needed) / kTrials;
  }
  EXPECT_GE(stable, 0.9 * kTrials);
  // And not because it asks for far too many.
  const SamplingNoise all = Profile(fleet_.observe(fleet_.draw(1000, random_), random_)).noise();
  EXPECT_GT(all.distance(asked, 1), 0.75 * tolerance.distance);
  RecordProperty("stable", stable);
}

TEST_F(Judging, AProfileThatMovedIsNotMendedByMachines) {
  const Verdict verdict = judge_two_windows(300, 2, {.distance = 0.1});
  EXPECT_EQ(verdict.stability, Stability::kMoved);
  EXPECT_FALSE(verdict.machines_needed);
}

TEST_F(Judging, SmallChangesAreTolerated) {
  EXPECT_EQ(judge_two_windows(500, 1.05, {.distance = 0.1}).stability, Stability::kStable);
  // However sure.
  EXPECT_EQ(judge_two_windows(500, 1.05, {.distance = 0.001}).stability, Stability::kMoved);
}

TEST_F(Judging, AFewMachinesCannotTell) {
  EXPECT_EQ(judge_two_windows(7, 1, {}).stability, Stability::kTooFewMachines);
  EXPECT_EQ(judge_two_windows(1, 3, {}).stability, Stability::kTooFewMachines);
}

TEST(Halves, TakeHalfOfEachStratumOnceEach) {
  const WindowedFleet fleet(100, kRows, 1);
  std::mt19937_64 random(7);
  const Machines all = fleet.observe(fleet.draw(61, random), random);
  const Halves halves(all.window(), kRows, 3);
  const Window first = halves.first();
  const Window second = halves.second();
  std::vector<uint32_t> joined = first.machines;
  joined.insert(joined.end(), second.machines.begin(), second.machines.end());
  std::ranges::sort(joined);
  EXPECT_EQ(joined, all.machines);
  EXPECT_LE(std::abs(static_cast<int>(first.machines.size()) - static_cast<int>(second.machines.size())), 1);
  for (const uint32_t stratum : {0, 1}) {
    EXPECT_LE(
        std::abs(std::ranges::count(first.strata, stratum) - std::ranges::count(second.strata, stratum)), 1);
  }
  const double sum = std::accumulate(first.values.begin(), first.values.end(), 0.0) +
                     std::accumulate(second.values.begin(), second.values.end(), 0.0);
  EXPECT_DOUBLE_EQ(sum, std::accumulate(all.values.begin(), all.values.end(), 0.0));
}

TEST(Halves, OfOneFleetDifferByChance) {
  const WindowedFleet fleet(1000, kRows, 1);
  std::mt19937_64 random(7);
  int alarms = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const Machines all = fleet.observe(fleet.draw(80, random), random);
    const Halves halves(all.window(), kRows, i);
    alarms += compare_windows(halves.first(), halves.second()).distance.p_value <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(alarms, 14);  // 5 expected
}

TEST(Stability, HasAName) {
  EXPECT_EQ(stability_name(Stability::kStable), "stable");
  EXPECT_EQ(stability_name(Stability::kTooFewMachines), "too few machines");
}

}  // namespace
}  // namespace plimsoll::statistics
