#include "statistics/cosine_waves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <random>
#include <vector>

namespace plimsoll::statistics {
namespace {

constexpr int64_t kHourOfWavesNs = int64_t{3600} * 1'000'000'000;

// Requests by hour of so many days, of which there are six times as many in the afternoon as at night.
std::vector<TimedMass> masses_of_days(int days) {
  std::vector<TimedMass> masses;
  for (int hour = 0; hour < days * 24; ++hour) {
    const double use = 1 + 0.7 * std::sin(2 * std::numbers::pi * (hour % 24 - 9) / 24);
    masses.push_back({.time_ns = hour * kHourOfWavesNs, .mass = use / (days * 24.0)});
  }
  return masses;
}

std::vector<TimedMass> random_masses(std::mt19937_64& random) {
  std::vector<TimedMass> masses(40);
  double sum = 0;
  int64_t time_ns = 0;
  for (TimedMass& part : masses) {
    time_ns += static_cast<int64_t>(1 + random() % 5) * kHourOfWavesNs;
    part = {.time_ns = time_ns, .mass = static_cast<double>(1 + random() % 100)};
    sum += part.mass;
  }
  for (TimedMass& part : masses) {
    part.mass /= sum;
  }
  return masses;
}

// The definition, over all pairs.
double variance_over_pairs(const std::vector<TimedMass>& masses, const std::vector<double>& values,
                           double correlation_ns) {
  double variance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) {
      const auto apart_ns = static_cast<double>(std::abs(masses[i].time_ns - masses[j].time_ns));
      variance += values[i] * values[j] * std::exp(-apart_ns / correlation_ns);
    }
  }
  return variance;
}

TEST(CosineWaves, HaveAMeanSquareOfOneOverEvenTimes) {
  for (size_t wave = 0; wave < 12; ++wave) {
    double squares = 0;
    for (int i = 0; i < 48; ++i) {
      const double value = cosine_wave(wave, (i + 0.5) / 48);
      squares += value * value / 48;
    }
    EXPECT_NEAR(squares, 1, 1e-12) << wave;
  }
}

TEST(CosineWaves, SeeAllOfWhatIsUncorrelated) {
  std::vector<TimedMass> masses;
  for (int hour = 0; hour < 48; ++hour) {
    masses.push_back({.time_ns = hour * kHourOfWavesNs, .mass = 1.0 / 48});
  }
  EXPECT_NEAR(share_seen_by_waves(masses, 3, 1), 1, 1e-12);
}

TEST(CosineWaves, SeeLessOfWhatLastsForHours) {
  // An hour is correlated with the next one by 0.7.
  const double correlation_ns = static_cast<double>(kHourOfWavesNs) / -std::log(0.7);
  EXPECT_NEAR(share_seen_by_waves(masses_of_days(2), 3, correlation_ns), 0.745, 0.001);
  EXPECT_NEAR(share_seen_by_waves(masses_of_days(7), 10, correlation_ns), 0.856, 0.001);
}

TEST(CosineWaves, SeeWhatTheSumsOverAllPairsSay) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    const auto masses = random_masses(random);
    const double correlation_ns =
        static_cast<double>(1 + random() % 20) * static_cast<double>(kHourOfWavesNs);
    const size_t waves = 1 + random() % 6;
    std::vector<double> values;
    for (const TimedMass& part : masses) {
      values.push_back(part.mass);
    }
    const double of_mean = variance_over_pairs(masses, values, correlation_ns);
    double of_waves = 0;
    for (size_t wave = 0; wave < waves; ++wave) {
      double before = 0;
      for (size_t i = 0; i < masses.size(); ++i) {
        values[i] = masses[i].mass * cosine_wave(wave, before + masses[i].mass / 2);
        before += masses[i].mass;
      }
      of_waves += variance_over_pairs(masses, values, correlation_ns) / static_cast<double>(waves);
    }
    EXPECT_NEAR(share_seen_by_waves(masses, waves, correlation_ns), of_waves / of_mean, 1e-9);
  }
}

TEST(CosineWaves, OfNothingAreNotCorrected) {
  EXPECT_EQ(share_seen_by_waves({}, 3, 1), 1);
  EXPECT_EQ(share_seen_by_waves(masses_of_days(2), 0, 1), 1);
}

}  // namespace
}  // namespace plimsoll::statistics
