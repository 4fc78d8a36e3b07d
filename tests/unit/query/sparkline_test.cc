#include "query/table/sparkline.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace plimsoll::query {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

TEST(Sparkline, GoesFromZeroToTheMaxInEighths) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8}, 20), "▁▂▃▄▅▆▇██");
  // Not from the min: 80 of 100 is no dip to the ground.
  EXPECT_EQ(sparkline(std::vector<double>{100, 80}, 20), "█▇");
}

TEST(Sparkline, OneValueIsFullAndZerosAreTheLowestBlock) {
  EXPECT_EQ(sparkline(std::vector<double>{0.001}, 20), "█");
  EXPECT_EQ(sparkline(std::vector<double>{0, 0, 0}, 20), "▁▁▁");
  EXPECT_EQ(sparkline(std::vector<double>{-5, 4}, 20), "▁█");
}

TEST(Sparkline, MissingValuesAreDots) {
  EXPECT_EQ(sparkline(std::vector<double>{kNoValue, 4, kNoValue, 2}, 20), "·█·▅");
  EXPECT_EQ(sparkline(std::vector<double>{std::numeric_limits<double>::infinity(), 4}, 20), "·█");
  EXPECT_EQ(sparkline(std::vector<double>{kNoValue, kNoValue}, 20), "··");
}

TEST(Sparkline, MoreValuesThanColumnsAreMergedByTheirMean) {
  // Means 4, 8, and 2 of the value left over; 8 is the max.
  EXPECT_EQ(sparkline(std::vector<double>{0, 8, 8, 8, 2}, 3), "▅█▃");
  // Seven values in three columns: 3, 3 and 1.
  EXPECT_EQ(sparkline(std::vector<double>{8, 8, 8, 4, 4, 4, 2}, 3), "█▅▃");
}

TEST(Sparkline, AGroupIsTheMeanOfTheValuesThatItHas) {
  EXPECT_EQ(sparkline(std::vector<double>{kNoValue, 8, kNoValue, kNoValue, 4, 4}, 3), "█·▅");
}

TEST(Sparkline, WithoutValuesOrColumnsIsEmpty) {
  EXPECT_EQ(sparkline(std::vector<double>{}, 20), "");
  EXPECT_EQ(sparkline(std::vector<double>{1, 2}, 0), "");
}

}  // namespace
}  // namespace plimsoll::query
