#include "statistics/false_discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace plimsoll::statistics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The fifteen p values of Benjamini and Hochberg's paper, 3.2: at 5 % the first four are rejected.
TEST(FalseDiscovery, AgreesWithThePaper) {
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  EXPECT_THAT(benjamini_hochberg(p, 0.05), ElementsAre(0, 1, 2, 3));
}

TEST(FalseDiscovery, TakesAllUpToTheLastThatHolds) {
  // 0.04 is over its own limit of 0.0333, but 0.045 is not over 0.05.
  const std::vector<double> p{0.045, 0.04, 0.001};
  EXPECT_THAT(benjamini_hochberg(p, 0.05), ElementsAre(0, 1, 2));
}

TEST(FalseDiscovery, CountsTestsWithoutValues) {
  const std::vector<double> p{0.01};
  EXPECT_THAT(benjamini_hochberg(p, 0.05), ElementsAre(0));
  EXPECT_THAT(benjamini_hochberg(p, 0.05, 100), IsEmpty());
  EXPECT_THAT(benjamini_hochberg({}, 0.05), IsEmpty());
}

// 0.005 of four tests, then 0.01 of three, 0.03 of two; what follows is never smaller.
TEST(Holm, MultipliesByTheTestsThatAreLeft) {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005};
  EXPECT_THAT(holm(p), ElementsAre(::testing::DoubleEq(0.03), ::testing::DoubleEq(0.06),
                                   ::testing::DoubleEq(0.06), ::testing::DoubleEq(0.02)));
  EXPECT_THAT(holm(std::vector{0.5, 0.9}), ElementsAre(1, 1));
  EXPECT_THAT(holm({}), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::statistics
