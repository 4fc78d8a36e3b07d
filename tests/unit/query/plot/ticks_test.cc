#include "query/plot/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll::query {
namespace {

using ::testing::Pointwise;

MATCHER(IsClose, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= 1e-9 * std::abs(std::get<1>(arg));
}

TEST(LinearTicks, AreRoundNumbersAroundTheRange) {
  EXPECT_THAT(linear_ticks(0, 1, 5), Pointwise(IsClose(), std::vector<double>({0, 0.2, 0.4, 0.6, 0.8, 1})));
  EXPECT_THAT(linear_ticks(0, 97, 5), Pointwise(IsClose(), std::vector<double>({0, 20, 40, 60, 80, 100})));
  EXPECT_THAT(linear_ticks(13, 27, 4), Pointwise(IsClose(), std::vector<double>({10, 15, 20, 25, 30})));
  EXPECT_THAT(linear_ticks(-0.03, 0.02, 5),
              Pointwise(IsClose(), std::vector<double>({-0.03, -0.02, -0.01, 0, 0.01, 0.02})));
  EXPECT_THAT(linear_ticks(0, 3e12, 3), Pointwise(IsClose(), std::vector<double>({0, 1e12, 2e12, 3e12})));
}

TEST(LinearTicks, OfASingleValueEncloseIt) {
  EXPECT_THAT(linear_ticks(0, 0, 2), Pointwise(IsClose(), std::vector<double>({0, 0.5, 1})));
  EXPECT_THAT(linear_ticks(4, 4, 2), Pointwise(IsClose(), std::vector<double>({4, 6, 8})));
}

TEST(LogarithmicTicks, HaveOneTwoAndFiveOfADecadeWhileTheyAreFew) {
  EXPECT_THAT(logarithmic_ticks(1, 10, 8), Pointwise(IsClose(), std::vector<double>({1, 2, 5, 10})));
  EXPECT_THAT(logarithmic_ticks(0.03, 0.6, 8),
              Pointwise(IsClose(), std::vector<double>({0.02, 0.05, 0.1, 0.2, 0.5, 1})));
  EXPECT_THAT(logarithmic_ticks(3, 2e4, 8),
              Pointwise(IsClose(), std::vector<double>({1, 10, 100, 1e3, 1e4, 1e5})));
}

TEST(LogarithmicTicks, OfManyDecadesSkipSome) {
  for (const double high : {1e20, 1e100, 1e300}) {
    const std::vector<double> ticks = logarithmic_ticks(1e-3, high, 8);
    EXPECT_LE(ticks.size(), 9);
    EXPECT_GE(ticks.size(), 4);
    EXPECT_LE(ticks.front(), 1e-3 * (1 + 1e-9));
    EXPECT_GE(ticks.back(), high * (1 - 1e-9));
  }
}

TEST(LogarithmicTicks, OfASingleValueEncloseIt) {
  EXPECT_THAT(logarithmic_ticks(100, 100, 8), Pointwise(IsClose(), std::vector<double>({50, 100})));
  EXPECT_THAT(logarithmic_ticks(3, 3, 8), Pointwise(IsClose(), std::vector<double>({2, 5})));
}

}  // namespace
}  // namespace plimsoll::query
