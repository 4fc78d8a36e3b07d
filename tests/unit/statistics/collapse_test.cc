#include "statistics/collapse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::statistics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Counts = std::vector<size_t>;

TEST(Collapse, LeavesStrataThatHaveTwo) {
  EXPECT_THAT(collapse(Counts{2, 30, 5}), ElementsAre(0, 1, 2));
  EXPECT_THAT(collapse(Counts{}), IsEmpty());
}

TEST(Collapse, JoinsSinglesInPairsAsTheyCome) {
  EXPECT_THAT(collapse(Counts{1, 1, 1, 1}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(collapse(Counts{1, 9, 1}), ElementsAre(0, 1, 0));
}

TEST(Collapse, AnOddSingleGoesToTheLastPair) {
  EXPECT_THAT(collapse(Counts{1, 1, 1}), ElementsAre(0, 0, 0));
  EXPECT_THAT(collapse(Counts{1, 1, 1, 1, 1}), ElementsAre(0, 0, 1, 1, 1));
}

TEST(Collapse, ASingleAloneGoesToTheStratumBeforeElseBehind) {
  EXPECT_THAT(collapse(Counts{4, 1, 7}), ElementsAre(0, 0, 1));
  EXPECT_THAT(collapse(Counts{1, 4, 7}), ElementsAre(0, 0, 1));
  EXPECT_THAT(collapse(Counts{4, 0, 1, 7}), ElementsAre(0, 0, 0, 1));
}

TEST(Collapse, OneMachineStaysAlone) {
  EXPECT_THAT(collapse(Counts{1}), ElementsAre(0));
  EXPECT_THAT(collapse(Counts{0, 1, 0}), ElementsAre(0, 0, 0));
}

TEST(Collapse, EmptyStrataAreNoStrata) {
  EXPECT_THAT(collapse(Counts{0, 3, 0, 2}), ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace plimsoll::statistics
