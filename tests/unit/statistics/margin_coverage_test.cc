// That 95 % margins hold the truth: 300 draws from each simulated fleet. query_bench makes 10,000.
#include <gtest/gtest.h>

#include <cmath>

#include "statistics/linearization.h"
#include "tests/fleets/coverage.h"
#include "tests/fleets/job_fleet.h"

namespace plimsoll::fleets {
namespace {

constexpr size_t kDraws = 300;
constexpr size_t kMachines = 400;
// Of 300 draws of which 95 % hold on average, one cell in ten thousand has fewer than this, and half of all more than 0.95;
// their errors scatter so that the oracle's margin is known within a tenth.
constexpr double kMinCoverage = 0.9;
constexpr double kMaxWidth = 1.15 * 1.15;

struct Fleets {
  const char* name;
  double fraction;
};

void PrintTo(const Fleets& fleets, std::ostream* stream) {
  *stream << fleets.name;
}

class Coverage : public ::testing::TestWithParam<Fleets> {
 protected:
  void expect_nominal(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) {
      if (!cell.is_of_enough()) {
        continue;
      }
      ++cells_;
      coverage_ += cell.enough.within_interval;
      EXPECT_GE(cell.enough.within_interval, kMinCoverage) << cell.fleet << " " << cell.question;
      EXPECT_LE(cell.enough.mean_margin, kMaxWidth * cell.oracle_margin)
          << cell.fleet << " " << cell.question;
    }
  }

  void TearDown() override {
    if (cells_ > 0) {
      EXPECT_GE(coverage_ / cells_, 0.94);
      EXPECT_LE(coverage_ / cells_, 0.97);
    }
  }

 private:
  int cells_ = 0;
  double coverage_ = 0;
};

TEST_P(Coverage, IsNominalOfSimulatedFleets) {
  Random random(20261122);
  for (const Fleet& fleet : all_fleets(GetParam().fraction, kMachines, random)) {
    expect_nominal(measure_coverage(fleet, kDraws, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(OfMachines, Coverage,
                         ::testing::Values(Fleets{"AFifth", 0.2}, Fleets{"Half", 0.5},
                                           Fleets{"NineTenths", 0.9}),
                         [](const auto& fleets) { return std::string(fleets.param.name); });

// Few machines hold less than they say, and say so.
TEST(FewMachines, AreLabelledAndHoldNineInTen) {
  Random random(3);
  for (const double machines : {2, 3, 4, 10, 20}) {
    double coverage = 0;
    int cells = 0;
    for (const Fleet& fleet : all_fleets(machines / kMachines, kMachines, random)) {
      for (const Cell& cell : measure_coverage(fleet, kDraws, 1)) {
        // Machines that are drawn independently of each other may be twice as many as are expected, once in a while.
        EXPECT_LE(cell.enough.draws, kDraws / 100) << cell.fleet << " " << cell.question;
        if (cell.few.draws * 2 > cell.draws) {
          ++cells;
          coverage += cell.few.within_interval;
        }
      }
    }
    ASSERT_GT(cells, 0);
    EXPECT_GE(coverage / cells, 0.9) << machines << " machines";
  }
}

class OneMachine : public ::testing::TestWithParam<Fleet (*)(double, size_t, Random&)> {};

// A machine alone speaks of itself.
TEST_P(OneMachine, HoldsItsOwnTruth) {
  Random random(9);
  const Fleet fleet = GetParam()(0.1, kMachines, random);
  size_t asked = 0;
  size_t holding = 0;
  for (uint32_t number = 0; number < kMachines; ++number) {
    Fleet alone = fleet;
    alone.machines = {fleet.machines[number]};
    for (std::vector<double>& column : alone.hits) {
      column = {column[number]};
    }
    draw_evenly(1, 1, alone);
    alone.machines.front().inclusion_probability = 0.01;
    const Sample sample = draw(alone, random);
    const statistics::Design design(sample.machines);
    for (const Question& question : alone.questions) {
      const statistics::Estimate estimate = fleets::estimate(question, sample, design);
      if (!estimate.low || !estimate.high || question.statistic == Statistic::kTotal) {
        continue;
      }
      EXPECT_EQ(estimate.margin_kind, statistics::MarginKind::kWithinOneMachine);
      ++asked;
      const double truth = alone.truth(question);
      holding += *estimate.low <= truth && truth <= *estimate.high ? 1 : 0;
    }
  }
  ASSERT_GT(asked, 500);
  EXPECT_GE(static_cast<double>(holding) / static_cast<double>(asked), 0.93);
}

INSTANTIATE_TEST_SUITE_P(Daemons, OneMachine, ::testing::Values(plain_fleet, throttled_fleet),
                         [](const auto& make) {
                           return make.param == plain_fleet ? "AtOneRate" : "Throttled";
                         });

// Sampling a tenth of the machines says of functions over 1 % what collecting from all of them says.
TEST(Agreement, ATenthAgreesWithAllWithinItsMargins) {
  constexpr size_t kAll = 1000;
  Random random(7);
  size_t asked = 0;
  size_t agreeing = 0;
  for (const Fleet& fleet : all_fleets(0.1, kAll, random)) {
    const Fleet all = collect_all(fleet, random);
    for (int i = 0; i < 200; ++i) {
      const Sample sample = draw(all, random);
      const statistics::Design design(sample.machines, all.selection);
      for (const Question& question : all.questions) {
        const statistics::Estimate estimate = fleets::estimate(question, sample, design);
        if (question.statistic == Statistic::kShare && all.truth(question) >= 0.01 && estimate.margin) {
          ++asked;
          agreeing += std::abs(*estimate.value - all.truth(question)) <= *estimate.margin ? 1 : 0;
        }
      }
    }
  }
  ASSERT_GT(asked, 3000);
  EXPECT_GE(static_cast<double>(agreeing) / static_cast<double>(asked), 0.94);
}

}  // namespace
}  // namespace plimsoll::fleets
