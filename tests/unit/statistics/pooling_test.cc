#include "statistics/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tests/fleets/simulated_use.h"

namespace plimsoll::statistics::pooling_test {
namespace {

std::vector<double> normal_series(size_t steps, double mean, double deviation, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<double> series(steps);
  for (double& value : series) {
    value = normal(random);
  }
  return series;
}

TEST(Pooling, IndependentNormalServicesNeedWhatIsPredicted) {
  const std::vector<std::vector<double>> services{normal_series(20000, 10, 3, 1),
                                                  normal_series(20000, 20, 4, 2)};
  const auto need = pool_need(services, {.share = 0.99, .shifts = 100});

  ASSERT_TRUE(need);
  EXPECT_NEAR(need->normal, 30 + 2.326 * 5, 0.2);
  EXPECT_NEAR(need->pooled, need->normal, 0.4);
  EXPECT_NEAR(need->separate, 30 + 2.326 * 7, 0.4);
  EXPECT_LE(need->independent_low, need->pooled);
  EXPECT_GE(need->independent_high, need->pooled);
}

TEST(Pooling, ServicesThatAreBusyInTurnNeedLess) {
  // Each needs 4 CPUs for 10 of 100 steps, never both.
  std::vector<std::vector<double>> services(2, std::vector<double>(10000, 1));
  for (size_t step = 0; step < 10000; ++step) {
    services[0][step] = step % 100 < 10 ? 4 : 1;
    services[1][step] = step % 100 >= 50 && step % 100 < 60 ? 4 : 1;
  }
  const auto need = pool_need(services, {.share = 0.99});

  ASSERT_TRUE(need);
  EXPECT_EQ(need->separate, 8);
  EXPECT_EQ(need->pooled, 5);
  EXPECT_GT(need->independent_high, 5);
}

TEST(Pooling, FindsWhoFollowsWhom) {
  const fleets::UsePair pair = fleets::simulate_use({.name = "", .followed = 0.5, .delay = 7}, 1);
  const auto forth = test_shift(pair.first, pair.second, {.max_lag = 20});
  const auto back = test_shift(pair.second, pair.first, {.max_lag = 20});

  ASSERT_TRUE(forth && back);
  EXPECT_EQ(forth->lag, 7);
  EXPECT_EQ(back->lag, -7);
  EXPECT_LT(forth->p, 0.01);
  EXPECT_NEAR(forth->correlation, back->correlation, 0.02);
}

TEST(Pooling, SaysThatASeriesIsTooShort) {
  const std::vector<double> series = normal_series(100, 1, 1, 1);
  EXPECT_EQ(test_shift(series, series, {.max_lag = 20}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(test_shift(series, std::vector<double>(100, 1), {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(test_shift(series, std::vector<double>(99), {}).error().code, ErrorCode::kInvalid);
}

// A sum of 1,000 times 0.1 is rounded, one of 0.5 is exact; neither varies, however many steps there are.
TEST(Pooling, SaysThatASeriesDoesNotVaryWhateverItsValue) {
  const std::vector<double> series = normal_series(1000, 1, 1, 1);
  for (const double value : {0.5, 0.1}) {
    const std::vector<double> constant(1000, value);
    for (const auto& shift : {test_shift(series, constant, {}), test_shift(constant, series, {})}) {
      ASSERT_FALSE(shift) << value;
      EXPECT_EQ(shift.error().code, ErrorCode::kNotFound);
      EXPECT_EQ(shift.error().message, "a series does not vary") << value;
    }
    EXPECT_EQ(autocorrelation_time(constant), 1) << value;
  }
}

TEST(Pooling, RefusesBlocksShorterThanTheLags) {
  const std::vector<double> series = normal_series(100, 1, 1, 1);
  EXPECT_EQ(test_shift(series, series, {.max_lag = 98, .block = 12}).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(test_shift(series, series, {.max_lag = 12, .block = 12}));
  EXPECT_EQ(test_shift(series, series, {.max_lag = ~size_t{0}}).error().code, ErrorCode::kNotFound);
}

TEST(Pooling, StopsAtALimitOfTheAutocorrelationTime) {
  // A ramp is correlated with itself over a fifth of its length; it is too long for eight blocks however far the sum goes.
  std::vector<double> ramp(8000);
  std::iota(ramp.begin(), ramp.end(), 0.0);
  const double limit = max_autocorrelation_time(ramp.size());
  EXPECT_EQ(limit, 50);
  EXPECT_GT(autocorrelation_time(ramp, limit), limit);
  EXPECT_LT(autocorrelation_time(ramp, limit), limit + 5);
  EXPECT_GT(autocorrelation_time(ramp), 1000);
  EXPECT_EQ(test_shift(ramp, ramp, {.max_lag = 20}).error().code, ErrorCode::kNotFound);
}

TEST(Pooling, AutocorrelationTimeOfAnAutoregressiveSeries) {
  constexpr double kNext = 0.9;
  std::vector<double> series = normal_series(100'000, 0, 1, 3);
  for (size_t step = 1; step < series.size(); ++step) {
    series[step] += kNext * series[step - 1];
  }
  EXPECT_NEAR(autocorrelation_time(series), (1 + kNext) / (1 - kNext), 2);
  EXPECT_NEAR(autocorrelation_time(normal_series(10'000, 0, 1, 4)), 1, 0.15);
}

// query_bench --only pooling has 1,000 pairs of each kind.
TEST(PoolingRecognition, OfIndependentServicesOneInTwenty) {
  constexpr size_t kPairs = 100;
  size_t of_all = 0;
  for (const fleets::UseSpec& spec : fleets::independent_use()) {
    const fleets::Recognized found = fleets::recognize(spec, kPairs, 1);
    EXPECT_GE(found.pairs, kPairs * 9 / 10) << spec.name;
    // Of 100 at 5 %, more than 14 are there in one of ten thousand runs.
    EXPECT_LE(found.dependent, 14) << spec.name;
    of_all += found.dependent;
  }
  EXPECT_GE(of_all, 3);
  // Of 300, in one of a thousand runs.
  EXPECT_LE(of_all, 28);
}

TEST(PoolingRecognition, OfShiftedServicesNearlyAll) {
  constexpr size_t kPairs = 30;
  for (const fleets::UseSpec& spec : fleets::shifted_use()) {
    const fleets::Recognized found = fleets::recognize(spec, kPairs, 1);
    EXPECT_GE(found.pairs, kPairs * 9 / 10) << spec.name;
    EXPECT_GE(found.dependent * 10, found.pairs * 9) << spec.name;
    EXPECT_GE(found.at_delay * 10, found.pairs * 9) << spec.name;
  }
}

TEST(PoolingRecognition, OfHardlyShiftedServicesHalf) {
  constexpr size_t kPairs = 40;
  size_t of_all = 0;
  for (const fleets::UseSpec& spec : fleets::hardly_shifted_use()) {
    const fleets::Recognized found = fleets::recognize(spec, kPairs, 1);
    EXPECT_EQ(found.pairs, kPairs) << spec.name;
    EXPECT_GE(found.dependent, kPairs * 4 / 10) << spec.name;
    EXPECT_GE(found.at_delay * 10, found.dependent * 9) << spec.name;
    of_all += found.dependent;
  }
  // A test that finds all of them would take chance for dependence.
  EXPECT_LE(of_all, 100);
}

}  // namespace
}  // namespace plimsoll::statistics::pooling_test
