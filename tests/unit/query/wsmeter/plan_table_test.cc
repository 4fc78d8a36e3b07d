#include "query/wsmeter/planning/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "query/wsmeter/planning/curve_plot.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
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
  EXPECT_THAT(table->notes, ElementsAre(HasSubstr("69 instances at a cost of 69, for a margin of "),
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
  EXPECT_THAT(why("b,1,nan,0.1,5,1"), HasSubstr("line 3: mean must be a number, is \"nan\""));
  EXPECT_THAT(why("b,-1,1,0.1,5,1"), HasSubstr("line 3: the quota of b is -1, must not be negative"));
  EXPECT_THAT(why("b,1,0,0.1,5,1"), HasSubstr("line 3: mean is 0, must be above 0"));
  EXPECT_THAT(why("b,1,1,-0.1,5,1"), HasSubstr("stddev is -0.1, must not be negative"));
  EXPECT_THAT(why("b,1,1,0.1,0,1"), HasSubstr("line 3: instances must be a whole number"));
  EXPECT_THAT(why("b,1,1,0.1,2.5,1"), HasSubstr("line 3: instances must be a whole number"));
  EXPECT_THAT(why("b,1,1,0.1,5,0"), HasSubstr("line 3: cost is 0"));
  EXPECT_THAT(why("b,0,1,0.1,5,"), HasSubstr("line 3: a job without quota has no cost"));
  EXPECT_THAT(why("a,1,1,0.1,5,1"), HasSubstr("line 3: job a is listed twice"));
  EXPECT_THAT(why("b,1,1,0.1,5"), HasSubstr("line 3: 5 fields"));
  EXPECT_THAT(csv("job,quota\na,1\n", {.margin = 0.03}), HasSubstr("no such column: \"mean\""));
  EXPECT_THAT(csv("job,quota,mean,stddev\na,1,1,1\n", {.margin = 0.03}), HasSubstr("add a column cost"));
  EXPECT_THAT(csv("job,quota,mean,stddev,cost\n", {.margin = 0.03}), HasSubstr("no job has a quota"));
  EXPECT_THAT(csv("job,quota,mean,stddev,instances\na,1,1,1,10\n", {.margin = 0.03}),
              HasSubstr("even observing all instances gives a margin of"));
}

// What `wsmeter baseline --csv` prints of jobs: weights in place of quotas, and more columns than are needed.
TEST(PlanTable, TakesABaseline) {
  EXPECT_EQ(csv("job,weight,mean,stddev,relative_stddev,instances,top_coverage\n"
                "a,0.75,2,0,0,10,0.75\nb,0.25,1,0,0,5,1\n",
                {.margin = 0.1}),
            "job,weight,observe,cost\na,0.75,4,0.3\nb,0.25,4,0.2\n");
}

// A baseline knows no deviation of one instance.
TEST(PlanTable, LeavesOutWhatHasNoStddev) {
  const auto table = plan_table("job,weight,mean,stddev,instances\na,0.6,2,0,10\nb,0.25,1,,1\nc,0.15,1,0,5\n",
                                {.margin = 0.1});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][1]), 0.8);
  EXPECT_THAT(table->notes, Contains("left out, stddev is unknown: b (25 % of the quota)"));
  EXPECT_THAT(csv("job,quota,mean,stddev,cost\na,1,1,,1\n", {.margin = 0.1}),
              HasSubstr("no job has a quota and a stddev"));
}

TEST(PlanTable, NumbersThatAreNoneAreNotPlannedFor) {
  const double nan = std::nan("");
  for (const PlanRequest& request : {PlanRequest{.margin = nan}, PlanRequest{.margin = 0.1, .z = nan},
                                     PlanRequest{.detect = HUGE_VAL}, PlanRequest{.budget = nan}}) {
    EXPECT_THAT(csv(kCustomer, request), HasSubstr("is not a finite number"));
    EXPECT_FALSE(margin_curve(kCustomer, request));
  }
  EXPECT_THAT(csv("job,quota,mean,stddev,cost\na,1e308,1,1,1\nb,1e308,1,1,1\n", {.margin = 0.1}),
              HasSubstr("is too large"));
  EXPECT_THAT(csv("job,quota,mean,stddev,cost\na,1,1e-300,1,1\n", {.margin = 0.1}), HasSubstr("1e100 times"));
}

// Of jobs of which nobody says how many instances there are.
TEST(PlanTable, CountsInstancesWithoutOverflow) {
  std::string jobs = "job,quota,mean,stddev,cost\n";
  for (int i = 0; i < 10'000; ++i) {
    jobs += fmt::format("j{},1,1,1,1\n", i);
  }
  const auto table = plan_table(jobs, {.budget = 1e300});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes[0], HasSubstr("9223372036854775807 instances"));
}

TEST(PlanTable, ACurveOfWhatDoesNotVaryHasOneRow) {
  const auto curve = margin_curve("job,quota,mean,stddev,cost\na,1,1,0,1\n", {.margin = 1});
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->points.size(), 1);
  EXPECT_THAT(curve->notes, ::testing::IsEmpty()) << "there is no narrower margin than none";
}

TEST(PlanTable, ABudgetBuysAMargin) {
  // Half the weight each and costs of 1: 69 instances are the customer's plan for 3 %.
  const auto table = plan_table(kCustomer, {.z = 2, .budget = 69});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(std::get<int64_t>(table->rows[0][2]) + std::get<int64_t>(table->rows[1][2]), 69);
  EXPECT_THAT(table->notes,
              ElementsAre(HasSubstr("69 instances at a cost of 69, for a margin of 2.99"),
                          HasSubstr("no plan within the budget of 69 has a margin below 2.99")));
  EXPECT_THAT(csv(kCustomer, {.z = 2, .budget = 7}),
              HasSubstr("the minimum instances per job cost 8, more than the budget of 7"));
}

TEST(PlanTable, ACurveSaysWhatMarginsCost) {
  const auto curve = margin_curve("job,quota,mean,stddev,instances,cost\na,1,1,0.2,20,3\n", {.z = 2});
  ASSERT_TRUE(curve) << curve.error().text();
  // 4 instances have 2 x 0.2 / sqrt(4), and each at most 0.8 of the margin before; 20 are all there are.
  std::vector<int64_t> instances;
  double before = 1;
  for (const MarginCurve::Point& point : curve->points) {
    instances.push_back(point.instances);
    EXPECT_LE(point.margin, before * 0.8 + 1e-12);
    EXPECT_EQ(point.cost, 3.0 * static_cast<double>(point.instances));
    before = point.margin;
  }
  EXPECT_THAT(instances, ElementsAre(4, 7, 11, 18));
  EXPECT_DOUBLE_EQ(curve->points[0].margin, 0.2);
  EXPECT_THAT(curve->notes, ElementsAre("narrower margins need more instances than exist"));
}

TEST(PlanTable, ACurveIsATableAndAPlot) {
  const MarginCurve curve{.points = {{.margin = 0.2, .instances = 4, .cost = 12, .min_cost = 11}},
                          .notes = {"a note"}};
  const Table table = table_of(curve);
  EXPECT_EQ(to_csv(table), "margin,instances,cost,min_cost\r\n0.2,4,12,11\r\n");
  EXPECT_THAT(table.notes, ElementsAre("a note"));
  const LinePlot plot = curve_plot(curve);
  ASSERT_EQ(plot.lines.size(), 2);
  EXPECT_EQ(plot.lines[0].points[0].x, 12);
  EXPECT_EQ(plot.lines[1].points[0].x, 11);
  EXPECT_EQ(plot.lines[0].points[0].tooltip, "margin 20 %: 4 instances, cost 12");
}

}  // namespace
}  // namespace plimsoll::query
