#include "query/statistics/ratio.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "query/statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

using Machines = std::vector<MachineSums>;

TEST(Ratio, IsOfTotalsNotAMeanOfRatios) {
  // A machine that does ten times the work counts ten times.
  const Estimate estimate = ratio(Machines{{200, 100, 200, 100}, {500, 1000, 500, 1000}});
  EXPECT_DOUBLE_EQ(*estimate.value, 700.0 / 1100);
  EXPECT_EQ(estimate.machines, 2);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kBetweenMachines);
}

TEST(Ratio, OfOneMachineHasTheNoiseOfItsCounts) {
  const Estimate estimate = ratio(Machines{{3000, 1000, 100, 50}});
  EXPECT_DOUBLE_EQ(*estimate.value, 3);
  // Relative variance 1/100 + 1/50.
  EXPECT_NEAR(*estimate.margin, 3 * 1.959964 * std::sqrt(0.03), 1e-6);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinOneMachine);
}

TEST(Ratio, BetweenMachinesIsTheSpreadOfResidualsByHand) {
  // R = 1; residuals 10, -10, 20, -20: variance 4/3 x 1000 of a sum of 400.
  const Estimate estimate =
      ratio(Machines{{110, 100, 1e3, 1e3}, {90, 100, 1e3, 1e3}, {120, 100, 1e3, 1e3}, {80, 100, 1e3, 1e3}});
  EXPECT_DOUBLE_EQ(*estimate.value, 1);
  EXPECT_NEAR(*estimate.margin, 3.182446 * std::sqrt(4000.0 / 3) / 400, 1e-6);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kBetweenMachines);
}

TEST(Ratio, OfAllMachinesHasOnlyTheNoiseOfCounts) {
  Machines machines{{110, 100, 1e3, 1e3, 1.0}, {90, 100, 1e3, 1e3, 1.0}};
  const Estimate estimate = ratio(machines);
  const double variance = (110 * 110 + 100 * 100 + 90 * 90 + 100 * 100) / 1e3;
  EXPECT_NEAR(*estimate.margin, 1.959964 * std::sqrt(variance) / 200, 1e-6);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinMachines);
  // One of which it is not known whether it was all there is: as if of very many.
  machines[1].inclusion_probability.reset();
  EXPECT_GT(*ratio(machines).margin, *estimate.margin);
  EXPECT_EQ(ratio(machines).margin_kind, MarginKind::kBetweenMachines);
}

TEST(Ratio, WithoutSamplesOfEitherThereIsNone) {
  for (const Machines& machines : {Machines{}, Machines{{0, 100, 0, 100}}, Machines{{100, 0, 100, 0}},
                                   Machines{{0, 5, 0, 50}, {0, 5, 0, 50}}}) {
    const Estimate estimate = ratio(machines);
    EXPECT_FALSE(estimate.value);
    EXPECT_FALSE(estimate.margin);
    EXPECT_EQ(margin_kind_name(estimate.margin_kind), "no samples");
  }
}

TEST(Ratio, OfTooFewSamplesHasNoMargin) {
  const Estimate estimate = ratio(Machines{{20, 100, kLeastSamples - 1, 1000}});
  EXPECT_DOUBLE_EQ(*estimate.value, 0.2);
  EXPECT_FALSE(estimate.margin);
  EXPECT_EQ(margin_kind_name(estimate.margin_kind), "too few samples");
}

TEST(Ratio, MachinesWithoutTheGroupDoNotCount) {
  const Machines with{{110, 100, 1e3, 1e3}, {90, 100, 1e3, 1e3}};
  Machines more = with;
  more.resize(50);
  EXPECT_EQ(ratio(more).machines, 2);
  EXPECT_DOUBLE_EQ(*ratio(more).margin, *ratio(with).margin);
}

// Trials in which the 95 % interval holds the truth, as a share.
class Coverage {
 public:
  void add(const Estimate& estimate, double truth) {
    ASSERT_TRUE(estimate.margin);
    ++trials_;
    holding_ += std::abs(*estimate.value - truth) <= *estimate.margin ? 1 : 0;
  }
  double share() const { return static_cast<double>(holding_) / static_cast<double>(trials_); }

 private:
  uint64_t trials_ = 0;
  uint64_t holding_ = 0;
};

// Nominal 95 %; 10,000 trials alone scatter by 0.4 points (two standard deviations).
void expect_nominal(const Coverage& coverage, const std::string& what) {
  ::testing::Test::RecordProperty(what, fmt::format("{:.4f}", coverage.share()));
  EXPECT_GE(coverage.share(), 0.935) << what;
  EXPECT_LE(coverage.share(), 0.965) << what;
}

constexpr int kTrials = 10'000;
constexpr double kInstructionsPerHit = 3e6;
constexpr double kCyclesPerHit = 2e6;

// A machine whose samples come at random at the rates that its work and its own IPC give.
class SampledMachine {
 public:
  // A machine of a fleet where jobs differ in size by 40 % and in IPC by 10 % between machines.
  explicit SampledMachine(std::mt19937_64& random) {
    std::gamma_distribution<double> size(6, 1.0 / 6);
    std::normal_distribution<double> ipc(0.8, 0.08);
    cycles_ = 4e8 * size(random);
    instructions_ = cycles_ * ipc(random);
  }

  double cycles() const { return cycles_; }
  double instructions() const { return instructions_; }

  MachineSums sample(std::mt19937_64& random, double weight) const {
    std::poisson_distribution<uint64_t> instruction_hits(instructions_ / kInstructionsPerHit);
    std::poisson_distribution<uint64_t> cycle_hits(cycles_ / kCyclesPerHit);
    const auto y = static_cast<double>(instruction_hits(random));
    const auto x = static_cast<double>(cycle_hits(random));
    return {weight * y * kInstructionsPerHit, weight * x * kCyclesPerHit, y, x};
  }

 private:
  double cycles_;
  double instructions_;
};

TEST(RatioCoverage, OfMachinesFromAVeryLargeFleet) {
  std::mt19937_64 random(20261121);
  for (const size_t machines : {3U, 5U, 10U, 30U, 100U}) {
    Coverage coverage;
    for (int trial = 0; trial < kTrials; ++trial) {
      Machines sums;
      for (size_t i = 0; i < machines; ++i) {
        sums.push_back(SampledMachine(random).sample(random, 1));
      }
      coverage.add(ratio(sums), 0.8);
    }
    expect_nominal(coverage, fmt::format("{} machines", machines));
  }
}

// Of the same fleet every time, a part of it, by which the margin is corrected.
TEST(RatioCoverage, OfALargePartOfASmallFleet) {
  std::mt19937_64 random(7);
  constexpr size_t kFleet = 40;
  std::vector<SampledMachine> fleet;
  double instructions = 0;
  double cycles = 0;
  for (size_t i = 0; i < kFleet; ++i) {
    fleet.emplace_back(random);
    instructions += fleet.back().instructions();
    cycles += fleet.back().cycles();
  }
  for (const size_t drawn : {8U, 20U, 36U, 40U}) {
    Coverage coverage;
    const double probability = static_cast<double>(drawn) / kFleet;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::shuffle(fleet.begin(), fleet.end(), random);
      Machines sums;
      for (size_t i = 0; i < drawn; ++i) {
        sums.push_back(fleet[i].sample(random, 1 / probability));
        sums.back().inclusion_probability = probability;
      }
      coverage.add(ratio(sums), instructions / cycles);
    }
    expect_nominal(coverage, fmt::format("{} of {} machines", drawn, kFleet));
  }
}

TEST(RatioCoverage, OfTheCountsOfOneMachine) {
  std::mt19937_64 random(11);
  for (const double hits : {60.0, 200.0, 2000.0}) {
    Coverage coverage;
    std::poisson_distribution<uint64_t> numerator(hits);
    std::poisson_distribution<uint64_t> denominator(hits / 0.8);
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto y = static_cast<double>(numerator(random));
      const auto x = static_cast<double>(denominator(random));
      coverage.add(ratio(Machines{{y, x, y, x}}), 0.8);
    }
    expect_nominal(coverage, fmt::format("{} hits", hits));
  }
}

}  // namespace
}  // namespace plimsoll::statistics
