#include "statistics/stability/entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::statistics::entropy_test {
namespace {

TEST(Entropy, OfEqualSharesIsTheLogarithmOfTheirNumber) {
  EXPECT_NEAR(entropy(std::vector<double>(8, 17)), 3, 1e-12);
  EXPECT_NEAR(entropy(std::vector<double>{5}), 0, 1e-12);
  EXPECT_EQ(entropy(std::vector<double>{}), 0);
  EXPECT_EQ(entropy(std::vector<double>{0, 0}), 0);
}

TEST(Entropy, OfTextBookSharesInBits) {
  // Cover and Thomas, Elements of Information Theory, example 1.1.2: a horse race.
  EXPECT_NEAR(entropy(std::vector<double>{32, 16, 8, 4, 1, 1, 1, 1}), 2, 1e-12);
  EXPECT_NEAR(entropy(std::vector<double>{0.5, 0.25, 0, 0.25}), 1.5, 1e-12);
}

TEST(MissingEntropy, MakesUpForSmallSamples) {
  // 50 entries that are equally likely, 500 samples.
  std::mt19937_64 random(4);
  double found = 0;
  double corrected = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> counts(50);
    for (int i = 0; i < 500; ++i) {
      ++counts[std::uniform_int_distribution<size_t>(0, 49)(random)];
    }
    found += entropy(counts) / kRuns;
    corrected += (entropy(counts) + missing_entropy(50, 500)) / kRuns;
  }
  EXPECT_LT(found, std::log2(50) - 0.06);
  EXPECT_NEAR(corrected, std::log2(50), 0.005);
}

// Machines that each have some of 40 functions, in shares of their own.
class Machines {
 public:
  static constexpr size_t kRows = 40;
  static constexpr size_t kFleet = 20'000;

  Machines() {
    std::mt19937_64 random(8);
    values_.resize(kFleet * kRows);
    for (size_t i = 0; i < values_.size(); ++i) {
      const double usual = 100 / static_cast<double>(i % kRows + 1);
      values_[i] = random() % 3 == 0 ? usual * std::gamma_distribution<double>(1, 1)(random) : 0;
    }
  }

  double truth() const {
    std::vector<double> totals(kRows);
    for (size_t i = 0; i < values_.size(); ++i) {
      totals[i % kRows] += values_[i];
    }
    return entropy(totals);
  }

  // Of so many machines, with counts that come at random.
  Estimate sample(size_t machines, std::mt19937_64& random, double& plain) const {
    const Design design(std::vector<SampledMachine>(machines, {0, static_cast<double>(machines) / kFleet}));
    const Jackknife jackknife(design, random());
    std::vector<double> sums(kRows * jackknife.cells());
    std::vector<double> totals(kRows);
    for (size_t machine = 0; machine < machines; ++machine) {
      const size_t number = random() % kFleet;
      for (size_t row = 0; row < kRows; ++row) {
        const double expected = values_[number * kRows + row];
        const double hits = expected > 0 ? std::poisson_distribution<int>(expected)(random) : 0;
        sums[row * jackknife.cells() + jackknife.cell_of(machine)] += hits;
        totals[row] += hits;
      }
    }
    plain = entropy(totals);
    return entropy(jackknife, sums, kRows);
  }

 private:
  std::vector<double> values_;
};

TEST(Entropy, OfSampledMachinesHasItsBiasTakenOffAndHoldsTheTruth) {
  const Machines fleet;
  const double truth = fleet.truth();
  std::mt19937_64 random(15);
  struct Sampled {
    size_t machines;
    double holding;
  };
  for (const auto& [machines, least] : {Sampled{30, 0.8}, Sampled{200, 0.9}}) {
    double found = 0;
    double corrected = 0;
    int holding = 0;
    constexpr int kDraws = 300;
    for (int draw = 0; draw < kDraws; ++draw) {
      double plain = 0;
      const Estimate estimate = fleet.sample(machines, random, plain);
      found += plain / kDraws;
      corrected += *estimate.value / kDraws;
      holding += std::abs(*estimate.value - truth) <= *estimate.margin ? 1 : 0;
    }
    EXPECT_LT(found, truth) << machines;
    EXPECT_LT(std::abs(corrected - truth), 0.5 * (truth - found)) << machines;
    EXPECT_GE(holding, least * kDraws) << machines;
    EXPECT_LE(holding, 0.99 * kDraws) << machines;
  }
}

TEST(Entropy, OfOneMachineHasNoMargin) {
  const Jackknife jackknife(Design(std::vector<SampledMachine>{{0, 0.1}}), 1);
  std::vector<double> sums(2 * jackknife.cells());
  sums[jackknife.cell_of(0)] = 5;
  sums[jackknife.cells() + jackknife.cell_of(0)] = 5;
  const Estimate estimate = entropy(jackknife, sums, 2);
  EXPECT_NEAR(*estimate.value, 1, 1e-12);
  EXPECT_FALSE(estimate.margin);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kTooFewMachines);
}

}  // namespace
}  // namespace plimsoll::statistics::entropy_test
