#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/metric/estimate.h"

namespace plimsoll::query {
namespace {

TEST(MetricEstimate, OfTwoJobsByHand) {
  // w 3/4: 1.1, 1.2, 1.3: mean 1.2, s^2 0.01; w 1/4: 0.8, 1.0: mean 0.9, s^2 0.02.
  const Spread a = spread_of(std::array{1.1, 1.2, 1.3});
  const Spread b = spread_of(std::array{0.8, 1.0});
  EXPECT_NEAR(a.variance, 0.01, 1e-12);
  MetricSum sum;
  sum.add_value(0.75 * a.mean);
  sum.add_value(0.25 * b.mean);
  sum.add_variance(part_of_sample(0.75, a, 0));
  sum.add_variance(part_of_sample(0.25, b, 4));
  const MetricEstimate estimate = sum.estimate();
  EXPECT_NEAR(estimate.value, 1.125, 1e-12);
  // 0.5625 x 0.01 / 3 = 0.001875; 0.0625 x 0.02 / 2 x (1 - 2/4) = 0.0003125.
  EXPECT_NEAR(estimate.deviation, std::sqrt(0.0021875), 1e-12);
  // 0.0021875^2 / (0.001875^2 / 2 + 0.0003125^2 / 1)
  EXPECT_NEAR(estimate.degrees, 2.57895, 1e-5);
  EXPECT_GT(estimate.margin, 3.182 * estimate.deviation) << "t of 3 degrees";
  EXPECT_LT(estimate.margin, 4.303 * estimate.deviation) << "t of 2 degrees";
}

TEST(MetricEstimate, OfAHeavyTailedJobHasFewerDegrees) {
  const Spread sample{.count = 5, .mean = 1, .variance = 0.01};
  EXPECT_DOUBLE_EQ(part_of_sample(1, sample, 0).degrees, 4);
  EXPECT_DOUBLE_EQ(part_of_sample(1, sample, 0, 8).degrees, 2 / (2.0 / 4 + 1));
  EXPECT_DOUBLE_EQ(part_of_sample(1, sample, 0, 100).degrees, 1) << "never fewer";
}

TEST(Kurtosis, IsThatOfManyValuesOnly) {
  std::vector<double> values(30, 1);
  EXPECT_EQ(kurtosis_of(values), 3) << "none varies";
  values[0] = 31;  // mean 2: (29^4 + 29) / (29^2 + 29)^2 x 30
  EXPECT_NEAR(kurtosis_of(values), 30 * (707281.0 + 29) / (870.0 * 870), 1e-9);
  values.pop_back();
  EXPECT_EQ(kurtosis_of(values), 3);
}

TEST(MetricEstimate, WithoutVarianceHasNoMargin) {
  MetricSum sum;
  sum.add_value(1);
  sum.add_variance(part_of_sample(1, spread_of(std::array{1.0, 1.0}), 0));
  EXPECT_EQ(sum.estimate().margin, 0);
}

TEST(Comparison, MeasuresByTheCurrentMeanAndWeighsByQuota) {
  const InstancesByJob current{{"a", {{100}, {300}}}, {"b", {{5}}}};
  const InstancesByJob other{{"a", {{300}, {500}}}, {"b", {{4}, {6}}}};
  const std::vector<JobQuota> quotas{{"b", 10}, {"a", 30}};
  const auto comparison = compare_arms(current, other, quotas);
  ASSERT_TRUE(comparison) << comparison.error().text();
  const ComparedJob& a = comparison->jobs[0];
  EXPECT_EQ(a.job.job, "a");
  EXPECT_EQ(a.weight, 0.75);
  EXPECT_EQ(a.current_mean, 200);
  EXPECT_EQ(a.other, (std::vector{1.5, 2.5}));
  EXPECT_EQ(a.cost_of_one(2), 15);
  EXPECT_EQ(comparison->coverage, 1);
}

TEST(Comparison, SaysWhyAJobIsLeftOut) {
  const InstancesByJob current{{"good", {{1}}},    {"untested", {{1}}}, {"once", {{1}}},
                               {"broken", {{-1}}}, {"free", {{1}}},     {"unknown", {{1}}}};
  const InstancesByJob other{{"good", {{1}, {2}}},
                             {"once", {{1}}},
                             {"broken", {{1}, {1}}},
                             {"free", {{1}, {1}}},
                             {"new", {{1}, {1}}}};
  const std::vector<JobQuota> quotas{{"good", 5},   {"untested", 1}, {"once", 1},
                                     {"broken", 1}, {"free", 0},     {"new", 2}};
  const auto comparison = compare_arms(current, other, quotas);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->jobs.size(), 1);
  EXPECT_EQ(comparison->coverage, 0.5);
  std::string reasons;
  for (const ExcludedJob& job : comparison->excluded) {
    reasons += job.job + ": " + job.reason + "\n";
  }
  EXPECT_EQ(reasons,
            "untested: no new observations\nonce: fewer than 2 new observations\nbroken: current performance "
            "is -1, must be above 0\nfree: no quota\nnew: no current observations\nunknown: not in the table "
            "of jobs\n");
}

TEST(Comparison, OfNothingInCommonSaysSo) {
  const InstancesByJob current{{"a", {{1}}}};
  const InstancesByJob other{{"b", {{1}, {1}}}};
  const std::vector<JobQuota> quotas{{"a", 1}, {"b", 2}};
  EXPECT_EQ(compare_arms(current, other, quotas).error().message,
            "no comparable job; b: no current observations");
  EXPECT_EQ(compare_arms({}, {}, {}).error().message, "no jobs");
}

}  // namespace
}  // namespace plimsoll::query
