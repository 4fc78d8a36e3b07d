#include "statistics/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "statistics/linearization.h"

namespace plimsoll::statistics {
namespace {

// What a selection has on each machine: samples of a row, of all; of a weight.
struct Selected {
  std::vector<double> row = {};
  std::vector<double> all = {};
  size_t machines = 0;  // that it is about; 0: those with samples
  double weight = 1;
};

// Keeps what a Side borrows.
class Sums {
 public:
  explicit Sums(const Selected& selected) {
    for (size_t i = 0; i < selected.row.size(); ++i) {
      row_.push_back(selected.row[i] * selected.weight);
      all_.push_back(selected.all[i] * selected.weight);
      row_squares_.push_back(row_.back() * selected.weight);
      all_squares_.push_back(all_.back() * selected.weight);
      machines_ += selected.all[i] > 0 ? 1 : 0;
    }
    machines_ = selected.machines > 0 ? selected.machines : machines_;
  }

  Side side() const { return {{row_, all_, row_squares_, all_squares_}, machines_}; }

 private:
  std::vector<double> row_, all_, row_squares_, all_squares_;
  size_t machines_ = 0;
};

Estimate ask(const Selected& base, const Selected& other, std::optional<double> probability = {},
             Statistic statistic = Statistic::kShare) {
  const Design design(std::vector<SampledMachine>(base.row.size(), {0, probability}));
  return difference(statistic, design, Sums(base).side(), Sums(other).side());
}

TEST(Difference, IsOfTheSharesOfTotals) {
  EXPECT_DOUBLE_EQ(*ask({{10, 30}, {100, 100}}, {{40, 40}, {100, 300}}).value, 80.0 / 400 - 40.0 / 200);
}

TEST(Difference, OfOtherMachinesHasTheVariancesOfBoth) {
  // 50 machines each, in turns of shares 0.4 and 0.6, and 0.5 and 0.7.
  Selected base;
  Selected other;
  for (int i = 0; i < 100; ++i) {
    const bool is_base = i < 50;
    base.row.push_back(is_base ? (i % 2 == 0 ? 40 : 60) : 0);
    base.all.push_back(is_base ? 100 : 0);
    other.row.push_back(is_base ? 0 : (i % 2 == 0 ? 50 : 70));
    other.all.push_back(is_base ? 0 : 100);
  }
  const Estimate estimate = ask(base, other);
  EXPECT_NEAR(*estimate.value, 0.1, 1e-12);
  // Each residual is 10 of 5000, over the root of 1 - 1/50; 100 machines.
  const double variance = 100.0 / 99 * 100 * (10.0 / 5000) * (10.0 / 5000) / (1 - 1.0 / 50);
  EXPECT_NEAR(*estimate.margin / std::sqrt(variance), 1.984, 0.001);  // t of 99 degrees
  EXPECT_EQ(estimate.margin_kind, MarginKind::kBetweenMachines);
  EXPECT_NEAR(*estimate.high - *estimate.value, *estimate.value - *estimate.low, 1e-12);
}

TEST(Difference, WhatAMachineAlwaysHasMoreOfCancelsOut) {
  Selected base;
  Selected other;
  for (int i = 0; i < 60; ++i) {
    base.row.push_back(i % 2 == 0 ? 10 : 90);
    base.all.push_back(100);
    other.row.push_back(i % 2 == 0 ? 12 : 92);
    other.all.push_back(100);
  }
  const Estimate estimate = ask(base, other);
  EXPECT_NEAR(*estimate.value, 0.02, 1e-12);
  EXPECT_NEAR(*estimate.margin, 0, 1e-9);
}

TEST(Difference, OfAFunctionThatIsNewIsAsSureAsItsShare) {
  Selected base{std::vector<double>(60, 0), std::vector<double>(60, 1000)};
  Selected other = base;
  for (size_t i = 0; i < 60; ++i) {
    other.row[i] = 20 + static_cast<double>(i % 10);
  }
  const Estimate estimate = ask(base, other);
  ASSERT_TRUE(estimate.margin);
  EXPECT_GT(*estimate.low, 0);
  const Design design(std::vector<SampledMachine>(60));
  EXPECT_NEAR(*estimate.margin, *share(design, Sums(other).side().sums).margin, 0.02 * *estimate.margin);
}

TEST(Difference, OfARowThatAHandfulHasHasNoMargin) {
  Selected base{std::vector<double>(100, 0), std::vector<double>(100, 1000)};
  Selected other = base;
  std::fill_n(other.row.begin(), 5, 900);
  const Estimate estimate = ask(base, other);
  EXPECT_TRUE(estimate.value);
  EXPECT_FALSE(estimate.margin);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kTooFewMachines);
}

TEST(Difference, OfFewMachinesSaysSo) {
  Selected base;
  Selected other;
  for (int i = 0; i < 66; ++i) {
    base.row.push_back(i < 60 ? 40 + i % 3 : 0);
    base.all.push_back(i < 60 ? 100 : 0);
    other.row.push_back(i < 60 ? 0 : 40 + i % 3);
    other.all.push_back(i < 60 ? 0 : 100);
  }
  EXPECT_EQ(ask(base, other).margin_kind, MarginKind::kFewMachines);
}

TEST(Difference, OfOneMachineHasTheNoiseOfItsCounts) {
  const Estimate estimate = ask({{400}, {1000}}, {{900}, {2000}});
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinOneMachine);
  const double variance = 0.4 * 0.6 / 1000 + 0.45 * 0.55 / 2000;
  EXPECT_NEAR(*estimate.margin, 1.96 * std::sqrt(variance), 1e-4);
}

TEST(Difference, OfTwoMachinesOneASideHasTheNoiseOfTheirCounts) {
  const Estimate estimate = ask({{400, 0}, {1000, 0}}, {{0, 900}, {0, 2000}});
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinOneMachine);
  EXPECT_NEAR(*estimate.margin, 1.96 * std::sqrt(0.4 * 0.6 / 1000 + 0.45 * 0.55 / 2000), 1e-4);
}

TEST(Difference, OfFewSamplesOnOneMachineHasNoMargin) {
  EXPECT_EQ(ask({{20}, {1000}}, {{30}, {1000}}).margin_kind, MarginKind::kTooFewSamples);
  EXPECT_EQ(ask({{0}, {1000}}, {{500}, {1000}}).margin_kind, MarginKind::kWithinOneMachine);
}

TEST(Difference, OfAllMachinesHasTheNoiseOfCountsAlone) {
  const Selected base{{400, 100}, {1000, 1000}};
  const Selected other{{500, 100}, {1000, 1000}};
  const Estimate estimate = ask(base, other, 1);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinMachines);
  EXPECT_GT(*estimate.margin, 0);
}

TEST(Difference, WithoutSamplesOnASideIsAbsent) {
  const Estimate estimate = ask({{0, 0}, {0, 0}}, {{5, 5}, {10, 10}});
  EXPECT_FALSE(estimate.value);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kNoSamples);
}

// Two draws of machines whose share differs by a factor of up to three; and all of their time.
struct Draws {
  Selected base;
  Selected other;
};

constexpr double kTruth = 0.3 - 0.25;

Draws draw(bool same_machines, Statistic statistic, std::mt19937_64& random) {
  constexpr size_t kMachines = 120;
  Draws draws;
  for (size_t i = 0; i < kMachines; ++i) {
    const bool in_base = same_machines || i % 2 == 0;
    const bool in_other = same_machines || i % 2 == 1;
    const double of_machine = std::uniform_real_distribution(0.5, 1.5)(random);
    const double load = std::uniform_real_distribution(200.0, 2000.0)(random);
    const auto add = [&](bool is_in, double share, Selected& selected) {
      const double mean = load * share * of_machine;
      const double row = is_in ? std::poisson_distribution<int>(mean)(random) : 0;
      const double rest = is_in ? std::poisson_distribution<int>(load - mean)(random) : 0;
      selected.row.push_back(row);
      selected.all.push_back(statistic == Statistic::kShare ? row + rest : is_in ? load : 0);
    };
    add(in_base, 0.25, draws.base);
    add(in_other, 0.3, draws.other);
  }
  return draws;
}

double coverage(bool same_machines, Statistic statistic) {
  constexpr int kDraws = 2000;
  std::mt19937_64 random(7);
  int held = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Draws draws = draw(same_machines, statistic, random);
    const Estimate estimate = ask(draws.base, draws.other, {}, statistic);
    held += *estimate.low <= kTruth && kTruth <= *estimate.high ? 1 : 0;
  }
  return static_cast<double>(held) / kDraws;
}

// Of 2,000 draws of which 95 % hold, one in ten thousand has fewer than 93.1 % or more than 96.8 %.
TEST(Difference, MarginsHoldTheTruth) {
  for (const bool same_machines : {false, true}) {
    for (const Statistic statistic : {Statistic::kShare, Statistic::kRate}) {
      const double held = coverage(same_machines, statistic);
      EXPECT_GE(held, 0.931) << same_machines;
      EXPECT_LE(held, 0.968) << same_machines;
    }
  }
}

}  // namespace
}  // namespace plimsoll::statistics
