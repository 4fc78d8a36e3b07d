#include "query/wsmeter/planning/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kCustomer =
    "job,quota,mean,stddev,instances,cost\n"
    "a,500,100,7.4,1000,1\n"
    "b,500,100,17.5,1000,1\n";

std::string csv(std::string_view jobs, const PlanRequest& request) {
  const auto table = plan_table(jobs, request);
  if (!table) {
    return table.error().text();
  }
  std::string text = to_csv(*table);
  std::erase(text, '\r');
  return text;
}

TEST(PlanTable, HasARowForEachJob) {
  EXPECT_EQ(csv(kCustomer, {.margin = 0.03, .z = 2, .rounding = Rounding::kUp}),
            "job,weight,observe,cost\na,0.5,21,21\nb,0.5,49,49\n");
  const auto table = plan_table(kCustomer, {.margin = 0.03, .z = 2});
  ASSERT_TRUE(table);
  EXPECT_THAT(table->notes, ElementsAre(HasSubstr("69 instances, which cost 69, for a margin of "),
                                        "no plan of whole instances costs less"));
}

TEST(PlanTable, WeighsByQuotaWhichIsAlsoWhatInstancesCost) {
  // Half of 300 each: an instance of b costs 1, one of a 15.
  EXPECT_EQ(csv("job,mean,stddev,instances,quota\na,2,0,10,150\nb,1,0,150,150\n", {.margin = 0.1}),
            "job,weight,observe,cost\na,0.5,4,60\nb,0.5,4,4\n");
}

TEST(PlanTable, WithoutInstancesThereAreAsManyAsAreWanted) {
  EXPECT_EQ(csv("job,quota,mean,stddev,cost\na,1,1,1,1\n", {.margin = 0.002, .z = 2}),
            "job,weight,observe,cost\na,1,1000000,1000000\n");
}

TEST(PlanTable, MayBeAskedToFindAnEffect) {
  // ((1.98 + 1.65) x 0.1 x 1.03 / 0.03)^2 = 156: what is 3 % faster scatters by 3 % more.
  const auto table =
      plan_table("job,quota_cores,mean,stddev,cost\na,1,1,0.1,1\n", {.detect = 0.03, .power = 0.95});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_NEAR(static_cast<double>(std::get<int64_t>(table->rows[0][2])), 156, 1);
}

TEST(PlanTable, ThatMakesNoSenseSaysWhere) {
  const auto why = [](const std::string& row) {
    return csv("job,quota,mean,stddev,instances,cost\na,1,1,0.1,1000,1\n" + row + "\n", {.margin = 0.03});
  };
  EXPECT_THAT(why("b,1,nan,0.1,5,1"), HasSubstr("line 3: mean is to be a number, not \"nan\""));
  EXPECT_THAT(why("b,-1,1,0.1,5,1"), HasSubstr("line 3: quota -1"));
  EXPECT_THAT(why("b,1,0,0.1,5,1"), HasSubstr("line 3: quota 1"));
  EXPECT_THAT(why("b,1,1,-0.1,5,1"), HasSubstr("line 3: quota 1 and stddev -0.1"));
  EXPECT_THAT(why("b,1,1,0.1,0,1"), HasSubstr("line 3: there are to be whole instances"));
  EXPECT_THAT(why("b,1,1,0.1,2.5,1"), HasSubstr("line 3: there are to be whole instances"));
  EXPECT_THAT(why("b,1,1,0.1,5,0"), HasSubstr("line 3: observing an instance costs 0"));
  EXPECT_THAT(why("b,1,1,0.1,5"), HasSubstr("line 3: 5 fields"));
  EXPECT_THAT(csv("job,quota\na,1\n", {.margin = 0.03}), HasSubstr("no column is called \"mean\""));
  EXPECT_THAT(csv("job,quota,mean,stddev\na,1,1,1\n", {.margin = 0.03}), HasSubstr("give the column cost"));
  EXPECT_THAT(csv("job,quota,mean,stddev,cost\n", {.margin = 0.03}),
              HasSubstr("there is no job with a quota"));
  EXPECT_THAT(csv("job,quota,mean,stddev,instances\na,1,1,1,10\n", {.margin = 0.03}),
              HasSubstr("planning for a margin of 3 %: observing all instances leaves"));
}

}  // namespace
}  // namespace plimsoll::query
