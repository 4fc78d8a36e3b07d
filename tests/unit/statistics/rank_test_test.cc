#include "statistics/rank_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::statistics {
namespace {

// By hand: of 20 pairs the first is larger in 17, and z = (17 - 10) / sqrt(4 x 5 x 10 / 12).
TEST(RankTest, AgreesWithAKnownCase) {
  const std::vector<double> first{0.4, 1.1, 2.2, 3.3};
  const std::vector<double> second{0.1, 0.2, 0.3, 1.0, 2.0};
  const RankTest test = mann_whitney(first, second);
  EXPECT_NEAR(test.auc, 17.0 / 20, 1e-12);
  EXPECT_NEAR(test.z, (17 - 10) / std::sqrt(4 * 5 * 10 / 12.0), 1e-12);
}

TEST(RankTest, CountsTiesHalf) {
  const std::vector<double> first{1, 1, 2};
  const std::vector<double> second{1, 2, 2};
  const RankTest test = mann_whitney(first, second);
  // 1 against 1, 2, 2: half a win each; 2 against them: 1, half, half.
  EXPECT_NEAR(test.auc, (0.5 + 0.5 + 2) / 9, 1e-12);
  // Two groups of three equal values: n m / 12 (7 - (24 + 24) / 30).
  EXPECT_NEAR(test.z, (3 - 4.5) / std::sqrt(9 / 12.0 * (7 - 48.0 / 30)), 1e-12);
}

TEST(RankTest, OfNothingOrOfEqualValuesIsNoDifference) {
  const std::vector<double> none;
  const std::vector<double> same{3, 3, 3};
  EXPECT_EQ(mann_whitney(none, same).z, 0);
  EXPECT_EQ(mann_whitney(same, none).auc, 0.5);
  EXPECT_EQ(mann_whitney(same, same).z, 0);
  EXPECT_EQ(mann_whitney(same, same).auc, 0.5);
}

// Of two samples of one distribution z is standard normal.
TEST(RankTest, HasItsErrorRate) {
  std::mt19937_64 random(5);
  int significant = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> first(20);
    std::vector<double> second(50);
    for (auto* values : {&first, &second}) {
      std::ranges::generate(*values, [&] { return static_cast<double>(random() % 1000); });
      std::ranges::sort(*values);
    }
    significant += mann_whitney(first, second).p() < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(significant / static_cast<double>(kTrials), 0.05, 0.012);
}

}  // namespace
}  // namespace plimsoll::statistics
