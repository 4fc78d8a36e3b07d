#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "query/wsmeter/baseline/baseline_table.h"
#include "query/wsmeter/baseline/coverage_plot.h"
#include "query/wsmeter/baseline/independence.h"
#include "query/wsmeter/baseline/normality.h"
#include "tests/unit/query/wsmeter/observed_fleet.h"

namespace plimsoll::query::baseline_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::string_view kJobs = "job,quota\nb,10\na,30\nc,60\n";
// a: mean 100, stddev 20 / sqrt(2); b: mean 4, stddev 2 / sqrt(2). c is on the new platform alone.
constexpr std::string_view kFleet =
    "platform,job,instance,performance\n"
    "old,a,0,90\nold,a,1,110\nold,b,0,3\nold,b,1,5\n"
    "new,a,0,120\nnew,b,0,8\nnew,c,0,1\n";

Result<Table> baseline_table(std::string_view performance, std::string_view jobs,
                             const BaselineRequest& request) {
  const auto baseline = baseline_of(observed_fleet(performance, jobs), request);
  return baseline ? Result<Table>(table_of(*baseline)) : propagate(baseline);
}

double number(const Table& table, size_t row, std::string_view column) {
  return std::get<double>(table.rows.at(row)[column_of(table, column)]);
}

TEST(Baseline, ByHand) {
  const auto table = baseline_table(kFleet, kJobs, {.current = "old", .other = "new"});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 2);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "a");
  EXPECT_DOUBLE_EQ(number(*table, 0, "weight"), 0.75);
  EXPECT_DOUBLE_EQ(number(*table, 0, "mean"), 100);
  EXPECT_NEAR(number(*table, 0, "stddev"), 14.1421, 1e-4);
  EXPECT_NEAR(number(*table, 1, "relative_stddev"), 0.353553, 1e-6);
  EXPECT_DOUBLE_EQ(number(*table, 0, "top_coverage"), 0.3);
  EXPECT_DOUBLE_EQ(number(*table, 1, "top_coverage"), 0.4);
  // sqrt(0.75^2 x 0.02 + 0.25^2 x 0.125)
  EXPECT_NEAR(number(*table, 1, "top_stddev"), std::sqrt(0.01125 + 0.0078125), 1e-12);
  EXPECT_NEAR(number(*table, 0, "top_stddev"), std::sqrt(0.02), 1e-12);
  EXPECT_DOUBLE_EQ(number(*table, 1, "stddev_vs_all_jobs"), 0);
  // 0.75 x 1.2 + 0.25 x 2 = 1.4
  EXPECT_NEAR(number(*table, 0, "top_metric"), 1.2, 1e-12);
  EXPECT_NEAR(number(*table, 1, "top_metric"), 1.4, 1e-12);
  EXPECT_NEAR(number(*table, 0, "metric_vs_all_jobs"), 1.2 / 1.4 - 1, 1e-12);
  EXPECT_THAT(table->notes, Contains("2 jobs, 40 % of the quota; 2 of them have 100 % of that"));
  EXPECT_THAT(table->notes, Contains("left out: c: no current observations"));
  EXPECT_THAT(table->notes, Contains(HasSubstr("no column machine or rack")));
}

TEST(Baseline, OfASingleInstanceHasNoDeviation) {
  const auto table = baseline_table("platform,job,instance,performance\nA,a,0,7\n", "job,quota\na,1\n", {});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table->rows[0][column_of(*table, "stddev")]));
  EXPECT_EQ(number(*table, 0, "top_stddev"), 0);
  EXPECT_EQ(number(*table, 0, "stddev_vs_all_jobs"), 0);
}

TEST(Baseline, IsPlottedByTheQuotaThatItsJobsCover) {
  const auto baseline = baseline_of(observed_fleet(kFleet, kJobs), {.current = "old", .other = "new"});
  ASSERT_TRUE(baseline) << baseline.error().text();
  const LinePlot plot = coverage_plot(*baseline);
  ASSERT_EQ(plot.lines.size(), 1);
  ASSERT_EQ(plot.lines[0].points.size(), 2);
  EXPECT_EQ(plot.lines[0].points[1].x, 2);
  EXPECT_DOUBLE_EQ(plot.lines[0].points[1].y, 0.4);
  EXPECT_THAT(plot.lines[0].points[1].tooltip,
              HasSubstr("2 jobs: 40 % of the quota; the last is b (weight 25 %)"));
}

TEST(Baseline, ThatMakesNoSenseSaysWhy) {
  EXPECT_THAT(baseline_table(kFleet, kJobs, {}).error().text(),
              HasSubstr("give --current, one of: new, old"));
  EXPECT_THAT(baseline_table(kFleet, kJobs, {.current = "x", .other = {}}).error().text(),
              HasSubstr("no observations of the platform x"));
  EXPECT_THAT(baseline_table(kFleet, "job,quota\nz,1\n", {.current = "old", .other = {}}).error().text(),
              HasSubstr("no comparable job"));
}

// Two jobs on 40 machines, of which b's performance follows a's where `together`.
std::string on_machines(bool together) {
  std::string text = "platform,job,instance,performance,machine\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("A,a,{},{},m{}\n", i, 100 + i, i);
    text += fmt::format("A,b,{},{},m{}\n", i, 100 + (together ? i : (i * 7) % 40), i);
  }
  return text;
}

TEST(Baseline, ExaminesIndependenceOnMachines) {
  const auto together = baseline_table(on_machines(true), "job,quota\na,1\nb,1\n", {});
  ASSERT_TRUE(together);
  EXPECT_THAT(together->notes, Contains(HasSubstr("1 of 1 pairs of heavy jobs are correlated")));
  // r = 1 and equal shares: sqrt(2) - 1.
  EXPECT_THAT(together->notes, Contains(HasSubstr("add the covariance: margins would be 41 % too narrow")));
  const auto apart = baseline_table(on_machines(false), "job,quota\na,1\nb,1\n", {});
  ASSERT_TRUE(apart);
  EXPECT_THAT(apart->notes, Contains(HasSubstr("0 of 1 pairs")));
  EXPECT_THAT(apart->notes, Contains(HasSubstr("recommended: ignore")));
  EXPECT_THAT(apart->notes, Contains(HasSubstr("machines: a margin of 1 % needs ")));
}

TEST(Independence, RecommendsByWhatItCosts) {
  EXPECT_EQ(recommendation({.significant = 1, .widening = -0.1}), "ignore");
  EXPECT_EQ(recommendation({.significant = 1, .widening = 0.005}), "ignore");
  EXPECT_EQ(recommendation({.significant = 1, .widening = 0.05}), "widen margins by 5.0 %");
  EXPECT_THAT(recommendation({.significant = 1, .widening = 0.2}), HasSubstr("add the covariance"));
}

TEST(MeansOfSamples, OfEvenlySpreadValuesAreNearlyNormal) {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i);
  }
  Random random(1);
  const auto means = means_of_samples(values, 4, random);
  ASSERT_TRUE(means);
  EXPECT_NEAR(means->skewness, 0, 0.15);
  EXPECT_NEAR(means->tail_share, 0.05, 0.02);
  EXPECT_FALSE(means_of_samples(std::span(values).first(29), 4, random)) << "too few";
  const std::vector<double> equal(100, 1);
  EXPECT_FALSE(means_of_samples(equal, 4, random));
}

TEST(MeansOfSamples, OfARareValueAreSkewed) {
  std::vector<double> values(100, 1);
  values[0] = 100;
  Random random(1);
  const auto means = means_of_samples(values, 4, random);
  ASSERT_TRUE(means);
  // Of 4 of 100 it is one in 4 %: z = (25 - 1) sqrt(24) / 99 ... = 4.9 then, -0.2 else: skewness (1 - 2p) / sqrt(p q) = 4.7.
  EXPECT_NEAR(means->skewness, 4.7, 1);
  EXPECT_NEAR(means->tail_share, 0.04, 0.015);
}

}  // namespace
}  // namespace plimsoll::query::baseline_test
