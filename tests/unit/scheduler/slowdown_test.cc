#include "scheduler/calibration/slowdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace plimsoll::scheduler {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

constexpr double kConfidence = 0.95;

TEST(Slowdown, IsTheMeanRatioWithAnUpperLimit) {
  const std::vector<double> without{1, 2, 4};
  const std::vector<double> with{1.01, 2.06, 4.08};
  const auto slowdown = slowdown_of(without, with, kConfidence);
  // Logarithms 0.009950, 0.029559, 0.019803; their mean 0.019771, deviation 0.009804; t of 2 degrees 2.919986.
  EXPECT_EQ(slowdown->pairs, 3);
  EXPECT_THAT(slowdown->mean, DoubleNear(0.019967, 1e-6));
  EXPECT_THAT(slowdown->log_deviation, DoubleNear(0.009804, 1e-6));
  EXPECT_THAT(slowdown->upper_limit, DoubleNear(0.036966, 1e-6));
}

TEST(Slowdown, OfRunsThatAreNoPairsIsRefused) {
  const auto refused = [](std::vector<double> without, std::vector<double> with, double confidence) {
    const auto slowdown = slowdown_of(without, with, confidence);
    return slowdown ? "" : slowdown.error().message;
  };
  EXPECT_EQ(refused({1, 1}, {1}, kConfidence), "1 runs with profiling and 2 without are fewer than 2 pairs");
  EXPECT_EQ(refused({1}, {1}, kConfidence), "1 runs with profiling and 1 without are fewer than 2 pairs");
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(refused({1, 1}, {1, bad}, kConfidence), "the time of a run is zero or not finite");
    EXPECT_EQ(refused({bad, 1}, {1, 1}, kConfidence), "the time of a run is zero or not finite");
  }
  EXPECT_EQ(refused({1, 1}, {1, 1}, 1), "a confidence of 1 is not between 0.5 and 1");
  EXPECT_EQ(refused({1, 1}, {1, 1}, 0.5), "a confidence of 0.5 is not between 0.5 and 1");
}

TEST(HighestPermitted, IsBeforeTheFirstThatIsOver) {
  const auto chosen = [](std::vector<double> upper_limits) {
    std::vector<Slowdown> by_rate;
    for (const double limit : upper_limits) {
      by_rate.push_back({.upper_limit = limit});
    }
    return highest_permitted(by_rate, 0.01);
  };
  EXPECT_THAT(chosen({0.001, 0.004, 0.009}), Optional(2));
  EXPECT_THAT(chosen({0.001, 0.01, 0.02}), Optional(1));
  EXPECT_THAT(chosen({0.001, 0.02, 0.009}), Optional(0)) << "a rate above one that may not be is not tried";
  EXPECT_EQ(chosen({0.02, 0.001}), std::nullopt);
  EXPECT_EQ(chosen({}), std::nullopt);
}

TEST(PairsNeeded, AreThoseWhoseUpperLimitIsJustWithin) {
  const auto limit = [](const Slowdown& like, size_t pairs) {
    // Half of the pairs above the mean and half below give this deviation, but for n - 1.
    const double scale = std::sqrt(static_cast<double>(pairs - 1) / static_cast<double>(pairs));
    std::vector<double> with;
    for (size_t i = 0; i < pairs; ++i) {
      with.push_back(std::exp(std::log1p(like.mean) + (i % 2 == 0 ? 1 : -1) * like.log_deviation * scale));
    }
    return slowdown_of(std::vector<double>(pairs, 1), with, kConfidence)->upper_limit;
  };
  const Slowdown noisy{.pairs = 10, .mean = 0.004, .upper_limit = 0.02, .log_deviation = 0.03};
  EXPECT_THAT(pairs_needed(noisy, 0.01, kConfidence), Optional(71));
  EXPECT_LE(limit(noisy, 72), 0.01);
  EXPECT_GT(limit(noisy, 70), 0.01);
}

TEST(PairsNeeded, AreNoneWhereTheMeanIsOver) {
  EXPECT_EQ(pairs_needed({.pairs = 9, .mean = 0.01, .upper_limit = 0.02, .log_deviation = 0.1}, 0.01, 0.95),
            std::nullopt);
  EXPECT_THAT(pairs_needed({.pairs = 9, .mean = 0, .upper_limit = 0, .log_deviation = 0}, 0.01, 0.95),
              Optional(2));
}

// Programs with a known slowdown at each of five rates, of which the first `harmless` are within 1 %.
class SimulatedProgram {
 public:
  SimulatedProgram(std::vector<double> slowdowns, uint64_t seed)
      : slowdowns_(std::move(slowdowns)), random_(seed) {}

  // Of `rounds` rounds, whose runs differ by 2 % and whose machine drifts besides.
  std::optional<size_t> calibrate(size_t rounds) {
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<double> without;
    std::vector<std::vector<double>> with(slowdowns_.size());
    for (size_t round = 0; round < rounds; ++round) {
      const double drift = 10 * std::exp(0.05 * std::sin(static_cast<double>(round)));
      without.push_back(drift * std::exp(noise(random_)));
      for (size_t rate = 0; rate < with.size(); ++rate) {
        with[rate].push_back(drift * (1 + slowdowns_[rate]) * std::exp(noise(random_)));
      }
    }
    std::vector<Slowdown> by_rate;
    for (const auto& runs : with) {
      by_rate.push_back(*slowdown_of(without, runs, kConfidence));
    }
    return highest_permitted(by_rate, 0.01);
  }

 private:
  std::vector<double> slowdowns_;
  std::mt19937_64 random_;
};

TEST(Calibration, SeldomPermitsARateThatIsTooHigh) {
  constexpr int kTrials = 4'000;
  // The fourth is just over the limit: the worst case of all.
  SimulatedProgram program({0, 0.0001, 0.0005, 0.01 + 1e-9, 0.03}, 20261123);
  int too_high = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    too_high += program.calibrate(40) >= std::optional<size_t>(3);
  }
  // One in twenty at most, and three standard deviations of their number.
  EXPECT_LE(too_high, kTrials * 0.05 + 3 * std::sqrt(kTrials * 0.05 * 0.95));
  EXPECT_GT(too_high, 0) << "a limit that is never wrong is wider than it has to be";
}

TEST(Calibration, FindsTheHighestHarmlessRateWithEnoughRounds) {
  constexpr int kTrials = 300;
  SimulatedProgram program({0, 0.0001, 0.001, 0.02, 0.05}, 20261124);
  int right = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    right += program.calibrate(200) == std::optional<size_t>(2);
  }
  EXPECT_GE(right, kTrials * 0.95);
}

}  // namespace
}  // namespace plimsoll::scheduler
