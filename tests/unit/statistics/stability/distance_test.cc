#include "statistics/stability/distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::statistics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Values = std::vector<double>;

TEST(UnionOfTop, HasTheLargestOfEither) {
  const Values x{5, 4, 3, 2, 1};
  const Values y{1, 2, 3, 4, 5};
  EXPECT_THAT(union_of_top(x, y, 1), ElementsAre(0, 4));
  EXPECT_THAT(union_of_top(x, y, 2), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(union_of_top(x, x, 2), ElementsAre(0, 1));
  EXPECT_THAT(union_of_top(x, y, 100), ElementsAre(0, 1, 2, 3, 4));
}

TEST(UnionOfTop, OfEqualValuesTheEarlierIsLarger) {
  EXPECT_THAT(union_of_top(Values{7, 7, 7}, Values{0, 0, 0}, 2), ElementsAre(0, 1));
}

TEST(UnionOfTop, HasNoRowWithoutAny) {
  EXPECT_THAT(union_of_top(Values{0, 3, 0}, Values{0, 0, 0}, 3), ElementsAre(1));
  EXPECT_THAT(union_of_top(Values{}, Values{}, 3), IsEmpty());
}

TEST(ManhattanDistance, IsOfSharesNotOfValues) {
  const Values x{50, 30, 20};
  EXPECT_DOUBLE_EQ(manhattan_distance(x, Values{500, 300, 200}, 3), 0);
  // 0.1 less, 0.05 more, 0.05 more.
  EXPECT_NEAR(manhattan_distance(x, Values{40, 35, 25}, 3), 0.2, 1e-12);
}

TEST(ManhattanDistance, OfNothingInCommonIsTwo) {
  EXPECT_DOUBLE_EQ(manhattan_distance(Values{1, 1, 0, 0}, Values{0, 0, 2, 2}, 2), 2);
}

TEST(ManhattanDistance, LooksAtTheTopOfBothAlone) {
  // Rows 0 and 1: |0.6 - 0.5| + |0.2 - 0.4|; row 2 is in neither top, row 3 below it.
  EXPECT_NEAR(manhattan_distance(Values{60, 20, 15, 5}, Values{50, 40, 0, 10}, 2), 0.3, 1e-12);
}

TEST(ManhattanDistance, OfNothingIsZero) {
  EXPECT_EQ(manhattan_distance(Values{0, 0}, Values{0, 0}, 2), 0);
}

}  // namespace
}  // namespace plimsoll::statistics
