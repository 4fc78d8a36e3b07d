#include "statistics/relative_change.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::statistics::relative_change_test {
namespace {

// What each machine has of two events; each sample stands for one.
struct Counts {
  std::vector<double> over;
  std::vector<double> under;

  RowSums sums() const { return {over, under, over, under}; }
};

// A job on both sides.
struct Job {
  double weight = 1;
  Counts base;
  Counts other;
};

class Comparison {
 public:
  Comparison(size_t machines, size_t base_machines, size_t other_machines,
             std::optional<double> probability = {})
      : design_(std::vector<SampledMachine>(machines, {0, probability})),
        change_(design_, base_machines, other_machines) {}

  bool add(const Job& job) { return change_.add(job.weight, job.base.sums(), job.other.sums()); }
  const RelativeChange& change() const { return change_; }

 private:
  const Design design_;
  RelativeChange change_;
};

// As many machines of each side, one side after the other; each machine of a side has the same, times 1 plus or minus `spread` in turns.
Job two_sided(double weight, size_t machines, double base, double other, double spread = 0) {
  Job job{.weight = weight, .base = {}, .other = {}};
  for (size_t i = 0; i < 2 * machines; ++i) {
    const bool is_base = i < machines;
    const double turn = 1 + (i % 2 == 0 ? spread : -spread);
    job.base.over.push_back(is_base ? 1e6 * base * turn : 0);
    job.base.under.push_back(is_base ? 1e6 : 0);
    job.other.over.push_back(is_base ? 0 : 1e6 * other * turn);
    job.other.under.push_back(is_base ? 0 : 1e6);
  }
  return job;
}

TEST(RelativeChange, IsTheWeightedMeanOfWhatEachJobWas) {
  Comparison comparison(80, 40, 40);
  ASSERT_TRUE(comparison.add(two_sided(3, 40, 2.0, 2.2)));  // a tenth more
  ASSERT_TRUE(comparison.add(two_sided(1, 40, 0.5, 0.4)));  // a fifth less
  const Estimate estimate = comparison.change().estimate();
  EXPECT_NEAR(*estimate.value, (3 * 0.1 + 1 * -0.2) / 4, 1e-12);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kBetweenMachines);
  EXPECT_EQ(comparison.change().base_contributors(), 40);
  EXPECT_EQ(comparison.change().other_contributors(), 40);
}

TEST(RelativeChange, OfOneJobHasTheRelativeVariancesOfBothSides) {
  Comparison comparison(100, 50, 50);
  ASSERT_TRUE(comparison.add(two_sided(7, 50, 1.0, 1.1, 0.1)));
  const Estimate estimate = comparison.change().estimate();
  EXPECT_NEAR(*estimate.value, 0.1, 1e-12);
  // Residuals of a tenth of a ratio over 50, over the root of 1 - 1/50, on either side; what counts add is next to nothing.
  const double relative_variance = 100.0 / 99 * 100 * (0.1 / 50) * (0.1 / 50) / (1 - 1.0 / 50);
  const double half = 1.984 * std::sqrt(relative_variance);  // t of 99 degrees
  EXPECT_NEAR(*estimate.low, 1.1 * std::exp(-half) - 1, 2e-4);
  EXPECT_NEAR(*estimate.high, 1.1 * std::exp(half) - 1, 2e-4);
}

TEST(RelativeChange, WhatAMachineAlwaysHasMoreOfCancelsOut) {
  Job job;
  for (size_t i = 0; i < 60; ++i) {
    const double speed = i % 2 == 0 ? 1e9 : 2e9;
    job.base.over.push_back(speed);
    job.base.under.push_back(1e9);
    job.other.over.push_back(1.05 * speed);
    job.other.under.push_back(1e9);
  }
  Comparison comparison(60, 60, 60);
  ASSERT_TRUE(comparison.add(job));
  EXPECT_NEAR(*comparison.change().estimate().value, 0.05, 1e-12);
  EXPECT_NEAR(*comparison.change().estimate().margin, 0, 1e-6);
  EXPECT_LT(*comparison.change().p_value(), 1e-9);
}

TEST(RelativeChange, JobsThatShareMachinesAreNotIndependent) {
  // Two jobs that are fast and slow on the same machines are as uncertain as one.
  Comparison one(80, 40, 40);
  ASSERT_TRUE(one.add(two_sided(1, 40, 1.0, 1.0, 0.2)));
  Comparison two(80, 40, 40);
  ASSERT_TRUE(two.add(two_sided(1, 40, 1.0, 1.0, 0.2)));
  ASSERT_TRUE(two.add(two_sided(1, 40, 3.0, 3.0, 0.2)));
  EXPECT_NEAR(*two.change().estimate().margin / *one.change().estimate().margin, 1, 1e-3);
}

TEST(RelativeChange, AJobThatOneSideHasNoneOfIsNotAdded) {
  Comparison comparison(80, 40, 40);
  Job job = two_sided(1, 40, 1, 1);
  job.other.over.assign(80, 0);
  EXPECT_FALSE(comparison.add(job));
  EXPECT_FALSE(comparison.change().estimate().value);
  EXPECT_FALSE(comparison.change().p_value());
}

TEST(RelativeChange, OfAHandfulOfMachinesHasNoMargin) {
  Comparison comparison(110, 100, 10);
  Job job;
  for (size_t i = 0; i < 110; ++i) {
    job.base.over.push_back(i < 100 ? 1000 : 0);
    job.base.under.push_back(i < 100 ? 1000 : 0);
    job.other.over.push_back(i < 104 ? 0 : 1000);
    job.other.under.push_back(i < 104 ? 0 : 1000);
  }
  ASSERT_TRUE(comparison.add(job));
  const Estimate estimate = comparison.change().estimate();
  EXPECT_EQ(estimate.margin_kind, MarginKind::kTooFewMachines);  // 6 of 10
  EXPECT_FALSE(estimate.margin);
  EXPECT_FALSE(comparison.change().p_value());
}

TEST(RelativeChange, OfTwoMachinesOneASideHasTheNoiseOfTheirCounts) {
  Comparison comparison(2, 1, 1);
  ASSERT_TRUE(comparison.add({1, {{900, 0}, {1600, 0}}, {{0, 2500}, {0, 3600}}}));
  const Estimate estimate = comparison.change().estimate();
  const double ratio = 2500.0 / 3600 / (900.0 / 1600);
  EXPECT_NEAR(*estimate.value, ratio - 1, 1e-12);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinOneMachine);
  const double half = 1.96 * std::sqrt(1.0 / 900 + 1.0 / 1600 + 1.0 / 2500 + 1.0 / 3600);
  EXPECT_NEAR(*estimate.high, ratio * std::exp(half) - 1, 1e-4);
}

TEST(RelativeChange, OfAllMachinesHasTheNoiseOfCountsAlone) {
  Comparison comparison(20, 10, 10, 1.0);
  ASSERT_TRUE(comparison.add(two_sided(1, 10, 1, 1, 0.5)));
  const Estimate estimate = comparison.change().estimate();
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinMachines);
  EXPECT_NEAR(*estimate.margin, 1.96 * std::sqrt(4 / 1e7), 1e-4);
}

// --- over many draws

constexpr size_t kMachines = 60;  // a side
constexpr std::array<double, 3> kWeights{5, 2, 1};
constexpr std::array<double, 3> kIpc{0.8, 1.5, 2.5};
// The third job runs on every other machine.
bool runs_on(size_t job, size_t machine) {
  return job < 2 || machine % 2 == 0;
}

// Machines differ by a tenth, alike for all of their jobs, and jobs on them by a twentieth more.
Comparison drawn(const std::array<double, 3>& factors, std::mt19937_64& random) {
  Comparison comparison(2 * kMachines, kMachines, kMachines);
  std::normal_distribution<double> normal;
  std::vector<double> speeds;
  for (size_t i = 0; i < 2 * kMachines; ++i) {
    speeds.push_back(std::exp(0.1 * normal(random)));
  }
  for (size_t j = 0; j < kWeights.size(); ++j) {
    Job job{.weight = kWeights.at(j), .base = {}, .other = {}};
    for (size_t i = 0; i < 2 * kMachines; ++i) {
      const bool is_base = i < kMachines;
      const double cycles = runs_on(j, i) ? 1000 * std::exp(0.3 * normal(random)) : 0;
      const double ipc =
          kIpc.at(j) * (is_base ? 1 : factors.at(j)) * speeds[i] * std::exp(0.05 * normal(random));
      const auto count = [&](double mean, bool is_there) {
        return mean > 0 && is_there ? static_cast<double>(std::poisson_distribution<int>(mean)(random)) : 0.0;
      };
      job.base.over.push_back(count(cycles * ipc, is_base));
      job.base.under.push_back(count(cycles, is_base));
      job.other.over.push_back(count(cycles * ipc, !is_base));
      job.other.under.push_back(count(cycles, !is_base));
    }
    EXPECT_TRUE(comparison.add(job));
  }
  return comparison;
}

// All machines have the same factors, so that a ratio's expectation is the job's own, but for a mean of exponentials that both sides
// share.
TEST(RelativeChange, MarginsHoldTheTruthInNinetyFiveOfAHundredDraws) {
  constexpr int kDraws = 2000;
  const std::array<double, 3> factors{1.07, 0.98, 1.2};
  const double truth = (5 * 1.07 + 2 * 0.98 + 1 * 1.2) / 8 - 1;
  std::mt19937_64 random(20261122);
  int held = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Estimate estimate = drawn(factors, random).change().estimate();
    held += *estimate.low <= truth && truth <= *estimate.high ? 1 : 0;
  }
  EXPECT_GE(held, 0.935 * kDraws);
  EXPECT_LE(held, 0.968 * kDraws);
}

TEST(RelativeChange, WithoutAChangeItIsSureOfOneInOneOfTwentyDraws) {
  constexpr int kDraws = 2000;
  std::mt19937_64 random(7);
  int sure = 0;
  for (int i = 0; i < kDraws; ++i) {
    sure += *drawn({1, 1, 1}, random).change().p_value() < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(sure, 0.05 * kDraws, 3 * std::sqrt(0.05 * 0.95 * kDraws));
}

}  // namespace
}  // namespace plimsoll::statistics::relative_change_test
