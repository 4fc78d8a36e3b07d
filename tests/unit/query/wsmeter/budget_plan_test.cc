#include "query/wsmeter/planning/budget_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/unit/query/wsmeter/plan_variance.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BudgetPlan, OfOneJobTakesWhatTheMoneyBuys) {
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0.2, .instances = kMany, .cost = 3}};
  const auto plan = plan_for_budget(jobs, {.cost = 301});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(plan->plan.observe, ElementsAre(100));
  EXPECT_DOUBLE_EQ(plan->plan.deviation, 0.02);
  EXPECT_NEAR(plan->min_deviation, 0.2 / std::sqrt(301.0 / 3), 1e-8);
}

TEST(BudgetPlan, OfMoreThanAllInstancesTakesAll) {
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0.2, .instances = 25, .cost = 3}};
  EXPECT_THAT(plan_for_budget(jobs, {.cost = 1000})->plan.observe, ElementsAre(25));
  const auto finite = plan_for_budget(jobs, {.cost = 1000, .is_finite_population = true});
  EXPECT_THAT(finite->plan.observe, ElementsAre(25));
  EXPECT_EQ(finite->plan.deviation, 0);
}

TEST(BudgetPlan, OfJobsThatDoNotDifferIsTheLeast) {
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0, .instances = 25, .cost = 3}};
  const auto plan = plan_for_budget(jobs, {.cost = 1000});
  EXPECT_THAT(plan->plan.observe, ElementsAre(4));
  EXPECT_EQ(plan->plan.deviation, 0);
}

TEST(BudgetPlan, ThatCannotBeSaysWhy) {
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0.2, .instances = 25, .cost = 3}};
  EXPECT_THAT(plan_for_budget(jobs, {.cost = 11}).error().message,
              HasSubstr("the minimum instances per job cost 12, more than the budget of 11"));
  for (const double cost : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(plan_for_budget(jobs, {.cost = cost}).error().code, ErrorCode::kInvalid);
  }
}

// The least variance of all plans that cost at most so much, by trying them all.
double min_variance(const std::vector<PlannedJob>& jobs, int64_t least, double budget, size_t job,
                    std::vector<int64_t>& counts) {
  if (job == jobs.size()) {
    return variance(jobs, counts);
  }
  double best = INFINITY;
  for (int64_t n = std::min(least, jobs[job].instances); n <= jobs[job].instances; ++n) {
    const double left = budget - jobs[job].cost * static_cast<double>(n);
    if (left >= 0) {
      counts[job] = n;
      best = std::min(best, min_variance(jobs, least, left, job + 1, counts));
    }
  }
  return best;
}

TEST(BudgetPlan, IsTheBestOfAllPlansOfRandomSmallFleets) {
  std::mt19937_64 random(20'261'125);
  const auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  for (int time = 0; time < 200; ++time) {
    std::vector<PlannedJob> jobs(1 + random() % 4);
    double min_cost = 0;
    double all_cost = 0;
    const auto least = static_cast<int64_t>(1 + random() % 4);
    for (PlannedJob& job : jobs) {
      job = {.weight = real(0.1, 1),
             .deviation = real(0.01, 0.5),
             .instances = static_cast<int64_t>(1 + random() % 12),
             .cost = static_cast<double>(1 + random() % 5)};
      min_cost += job.cost * static_cast<double>(std::min(least, job.instances));
      all_cost += job.cost * static_cast<double>(job.instances);
    }
    const double budget = std::floor(real(min_cost, all_cost + 2));
    const auto plan = plan_for_budget(jobs, {.cost = budget, .min_instances = least});
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_LE(plan->plan.cost, budget);
    EXPECT_LE(plan->min_deviation, plan->plan.deviation);
    std::vector<int64_t> counts(jobs.size());
    const double best = std::sqrt(min_variance(jobs, least, budget, 0, counts));
    EXPECT_NEAR(plan->plan.deviation, best, 1e-6 * best) << "case " << time;
  }
}

}  // namespace
}  // namespace plimsoll::query
