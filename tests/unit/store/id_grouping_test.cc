#include "store/model/id_grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/aggregation/cell_sums.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IdGrouping, OfNothingElseIsOneGroup) {
  const IdGrouping one;
  EXPECT_TRUE(one.is_one());
  EXPECT_EQ(one.of(7), 0);
  EXPECT_EQ(one.groups(7), 1);
  EXPECT_TRUE(IdGrouping::by({}).is_one());
}

TEST(IdGrouping, EachIdIsAGroupWithoutATable) {
  const IdGrouping each = IdGrouping::each();
  EXPECT_FALSE(each.is_one());
  EXPECT_EQ(each.of(UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(each.groups(UINT32_MAX), uint64_t{1} << 32U);
  EXPECT_THAT(each.table(), IsEmpty());
}

TEST(IdGrouping, IdsBeyondATableAreInGroup0) {
  const IdGrouping grouping = IdGrouping::by({3, 1});
  EXPECT_EQ(grouping.of(0), 3);
  EXPECT_EQ(grouping.of(2), 0);
  EXPECT_EQ(grouping.groups(100), 4);
  EXPECT_THAT(grouping.table(), ElementsAre(3, 1));
}

TEST(IdGrouping, StacksBeyondTheListsHaveNoGroups) {
  const IdGrouping grouping =
      IdGrouping::in_lists({.list_of_stack = {1, 0}, .first = {0, 0, 2}, .groups = {5, 8}});
  EXPECT_FALSE(grouping.is_one());
  EXPECT_EQ(grouping.groups(100), 9);
  ASSERT_NE(grouping.lists(), nullptr);
  EXPECT_THAT(grouping.lists()->of(0), ElementsAre(5, 8));
  EXPECT_THAT(grouping.lists()->of(1), IsEmpty());
  EXPECT_THAT(grouping.lists()->of(2), IsEmpty());
}

TEST(IdGrouping, CellsOfIdsAreAsManyAsTheLargestIdAllows) {
  AggregateRequest request;
  request.measures = {Factors()};
  request.group[Column::kWorkload] = IdGrouping::each();
  request.group[Column::kStack] = IdGrouping::by({0, 2});
  const auto space = CellSpace::of(request, {{9, 9, 4, 9, 9, 9}});
  ASSERT_TRUE(space) << space.error().text();
  EXPECT_EQ(space->cells(), 5 * 3);
  request.group[Column::kOrigin] = IdGrouping::each();
  request.group[Column::kThread] = IdGrouping::each();
  const auto too_many = CellSpace::of(request, {{0, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0}});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace plimsoll::store
