#include "statistics/robust.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plimsoll::statistics {
namespace {

TEST(Robust, QuantilesAreInterpolated) {
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_EQ(quantile_of_sorted(values, 0), 1);
  EXPECT_EQ(quantile_of_sorted(values, 1), 4);
  EXPECT_NEAR(quantile_of_sorted(values, 0.9), 3.7, 1e-12);
  EXPECT_EQ(quantile_of_sorted({}, 0.5), 0);
}

TEST(Robust, MediansOfAnyOrder) {
  std::vector<double> odd{5, 1, 9};
  std::vector<double> even{5, 1, 9, 2};
  EXPECT_EQ(median_of(odd), 5);
  EXPECT_EQ(median_of(even), 3.5);
  EXPECT_EQ(median_of({}), 0);
}

TEST(Robust, DeviationIsThatOfANormalDistributionAndIgnoresOutliers) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 3);
  std::vector<double> deviations(20'000);
  for (double& deviation : deviations) {
    deviation = normal(random);
  }
  for (size_t i = 0; i < 200; ++i) {
    deviations[i] = 1e9;
  }
  EXPECT_NEAR(robust_deviation(deviations), 3, 0.12);
}

}  // namespace
}  // namespace plimsoll::statistics
