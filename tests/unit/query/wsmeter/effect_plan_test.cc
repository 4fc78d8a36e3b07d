#include "query/wsmeter/planning/effect_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "statistics/student_t.h"
#include "tests/unit/query/wsmeter/plan_variance.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One job, whose instances differ by a tenth.
std::vector<PlannedJob> one_job(int64_t instances = kMany) {
  return {{.weight = 1, .deviation = 0.1, .instances = instances, .cost = 1}};
}

TEST(EffectPlan, HasTheMarginWithItsOwnDegreesOfFreedom) {
  // (1.96 x 0.1 / 0.05)^2 = 15.4: 16 instances with z. With t of 17 degrees, 2.110 x 0.1 / sqrt(18) = 0.0497; with 17 it is 0.0514.
  const auto plan = plan_for_effect(one_job(), {.effect = 0.05});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(plan->plan.observe, ElementsAre(18));
  EXPECT_NEAR(plan->degrees, 17, 1e-9);
  EXPECT_NEAR(plan->margin, 0.0497, 5e-5);
}

TEST(EffectPlan, FindsAnEffectWithItsPower) {
  const auto plan = plan_for_effect(one_job(), {.effect = 0.01, .power = 0.95});
  ASSERT_TRUE(plan);
  // ((1.96 + 1.645) x 0.1 x 1.01 / 0.01)^2 = 1325.6, and t a little above.
  EXPECT_NEAR(static_cast<double>(plan->plan.observe[0]), 1328, 2);
  // What is 1 % faster scatters by 1 % more.
  const double found =
      statistics::student_t_cdf((0.01 / 1.01 - plan->margin) / plan->plan.deviation, plan->degrees);
  EXPECT_GE(found, 0.95 - 1e-9);
  EXPECT_LE(found, 0.951);
}

TEST(EffectPlan, LeavesRoomForAVarianceThatIsKnown) {
  const auto alone = plan_for_effect(one_job(), {.effect = 0.01});
  const auto half =
      plan_for_effect(one_job(), {.effect = 0.01, .known_variance = std::pow(0.01 / 1.96, 2) / 2});
  ASSERT_TRUE(alone && half);
  const auto observed = static_cast<double>(half->plan.observe[0]);
  EXPECT_NEAR(observed / static_cast<double>(alone->plan.observe[0]), 2, 0.02);
  // Half of the variance is known for sure: V^2 / ((V / 2)^2 / (N - 1)) degrees. Where that is known with 4, there are V^2 / ((V / 2)^2 / 4 + ...) = 16.
  EXPECT_NEAR(half->degrees / (4 * (observed - 1)), 1, 0.02);
  const auto unsure = plan_for_effect(
      one_job(), {.effect = 0.01, .known_variance = std::pow(0.01 / 2.12, 2) / 2, .known_degrees = 4});
  ASSERT_TRUE(unsure);
  EXPECT_NEAR(unsure->degrees, 16, 0.5);
  EXPECT_LE(half->margin, 0.01 * (1 + 1e-9));
  const auto none = plan_for_effect(one_job(), {.effect = 0.01, .known_variance = 0.01});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message,
              HasSubstr("the sample of the current fleet alone has a standard deviation of 0.1"));
}

TEST(EffectPlan, WithoutDeviationsHasNoMargin) {
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0, .instances = 9, .cost = 1}};
  const auto plan = plan_for_effect(jobs, {.effect = 0.01, .power = 0.9});
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->plan.observe, ElementsAre(4));
  EXPECT_EQ(plan->margin, 0);
}

TEST(EffectPlan, ThatMakesNoSenseSaysWhy) {
  const auto why = [](EffectGoal goal) { return plan_for_effect(one_job(25), goal).error().message; };
  EXPECT_THAT(why({.effect = 0}), HasSubstr("the effect or margin is 0, must be above 0"));
  EXPECT_THAT(why({.effect = std::nan("")}), HasSubstr("the effect or margin is nan"));
  EXPECT_THAT(why({.effect = 0.1, .power = 1}), HasSubstr("the power is 1,"));
  EXPECT_THAT(why({.effect = 0.1, .power = std::nan("")}), HasSubstr("the power is nan,"));
  EXPECT_THAT(why({.effect = 0.01}),
              HasSubstr("even observing all instances gives a standard deviation of 0.02"));
}

}  // namespace
}  // namespace plimsoll::query
