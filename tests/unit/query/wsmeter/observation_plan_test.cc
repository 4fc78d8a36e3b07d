#include "query/wsmeter/planning/observation_plan.h"

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

// The customer of the paper (section 5.4): means of 100, deviations of 7.4 and 17.5, half of the quota each, +-3 % with t = 2.
std::vector<PlannedJob> customer() {
  return {{.weight = 0.5, .deviation = 0.074, .instances = kMany, .cost = 1},
          {.weight = 0.5, .deviation = 0.175, .instances = kMany, .cost = 1}};
}

TEST(ObservationPlan, OfThePapersCustomer) {
  const auto up = plan_observations(customer(), {.deviation = 0.015, .rounding = Rounding::kUp});
  ASSERT_TRUE(up) << up.error().text();
  EXPECT_THAT(up->observe, ElementsAre(21, 49));
  const auto least = plan_observations(customer(), {.deviation = 0.015});
  ASSERT_TRUE(least) << least.error().text();
  EXPECT_EQ(least->observe[0] + least->observe[1], 69);
  EXPECT_LE(least->deviation, 0.015);
  EXPECT_TRUE(least->is_optimal);
  // (0.5 x 0.074 + 0.5 x 0.175)^2 / 0.015^2
  EXPECT_NEAR(least->min_cost, 68.89, 1e-6);
}

TEST(ObservationPlan, ObservesAtLeastFourOfEachAndAllOfASmallOne) {
  std::vector<PlannedJob> jobs = customer();
  jobs.push_back({.weight = 0, .deviation = 0.1, .instances = kMany, .cost = 1});
  jobs.push_back({.weight = 0, .deviation = 0, .instances = 2, .cost = 1});
  const auto plan = plan_observations(jobs, {.deviation = 0.015});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->observe[2], 4);
  EXPECT_EQ(plan->observe[3], 2);
  EXPECT_EQ(plan->observe[0] + plan->observe[1], 69);
}

TEST(ObservationPlan, CheapInstancesAreObservedMoreOften) {
  std::vector<PlannedJob> jobs = customer();
  jobs[1].deviation = jobs[0].deviation;
  jobs[1].cost = 9;
  const auto plan = plan_observations(jobs, {.deviation = 0.002});
  ASSERT_TRUE(plan);
  const double ratio = static_cast<double>(plan->observe[0]) / static_cast<double>(plan->observe[1]);
  EXPECT_NEAR(ratio, 3, 0.02) << "the square root of what they cost";
}

TEST(ObservationPlan, OfAFinitePopulationNeedsFewer) {
  // 100 instances, all the weight: n0 = (s / d)^2 = 100, n = n0 / (1 + n0 / 100) = 50 (Cochran, Sampling Techniques, section 4.4).
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0.1, .instances = 100, .cost = 1}};
  EXPECT_THAT(plan_observations(jobs, {.deviation = 0.01})->observe, ElementsAre(100));
  const auto finite = plan_observations(jobs, {.deviation = 0.01, .is_finite_population = true});
  EXPECT_THAT(finite->observe, ElementsAre(50));
  EXPECT_NEAR(finite->deviation, 0.01, 1e-12);
}

TEST(ObservationPlan, ThatCannotBeSaysWhatCan) {
  const std::vector<PlannedJob> jobs{{.weight = 1, .deviation = 0.1, .instances = 25, .cost = 1}};
  const auto none = plan_observations(jobs, {.deviation = 0.01});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message,
              HasSubstr("even observing all instances gives a standard deviation of 0.02, more than 0.01"));
}

TEST(ObservationPlan, NumbersThatMakeNoSenseAreNamed) {
  const auto why = [](PlannedJob job, PlanGoal goal = {.deviation = 0.01}) {
    const auto plan = plan_observations(std::vector<PlannedJob>{customer()[0], job}, goal);
    return plan ? std::string() : plan.error().message;
  };
  const PlannedJob good = customer()[0];
  EXPECT_EQ(why(good), "");
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(why({wrong, 0.1, 10, 1}), HasSubstr("job 2: weight"));
    EXPECT_THAT(why({0.5, wrong, 10, 1}), HasSubstr("job 2: weight"));
    EXPECT_THAT(why({0.5, 0.1, 10, wrong}), HasSubstr("job 2: cost is"));
    EXPECT_THAT(why(good, {.deviation = wrong}), HasSubstr("the standard deviation is"));
  }
  EXPECT_THAT(why({0.5, 0.1, 0, 1}), HasSubstr("job 2: 0 instances, must be at least 1"));
  EXPECT_THAT(why({0.5, 0.1, 10, 0}), HasSubstr("job 2: cost is 0"));
  EXPECT_THAT(why(good, {.deviation = 0}), HasSubstr("the standard deviation is 0"));
  EXPECT_THAT(why(good, {.deviation = 1, .min_instances = 0}), HasSubstr("must be at least 1"));
  EXPECT_FALSE(plan_observations({}, {.deviation = 1}));
}

// Every plan there is, by trying all.
class AllPlans {
 public:
  AllPlans(const std::vector<PlannedJob>& jobs, const PlanGoal& goal)
      : jobs_(jobs), goal_(goal), counts_(jobs.size()) {
    double correction = 0;
    for (const PlannedJob& job : jobs) {
      correction += std::pow(job.weight * job.deviation, 2) / static_cast<double>(job.instances);
    }
    allowed_ = goal.deviation * goal.deviation + (goal.is_finite_population ? correction : 0);
    search(0, 0);
  }
  double min_cost() const { return best_; }

 private:
  void search(size_t job, double cost) {
    if (job == jobs_.size()) {
      if (variance(jobs_, counts_) <= allowed_ * (1 + 1e-12)) {
        best_ = std::min(best_, cost);
      }
      return;
    }
    for (int64_t n = std::min(goal_.min_instances, jobs_[job].instances); n <= jobs_[job].instances; ++n) {
      counts_[job] = n;
      search(job + 1, cost + jobs_[job].cost * static_cast<double>(n));
    }
  }

  const std::vector<PlannedJob>& jobs_;
  const PlanGoal& goal_;
  double allowed_ = 0;
  std::vector<int64_t> counts_;
  double best_ = INFINITY;
};

TEST(ObservationPlan, IsTheBestOfAllPlansOfRandomSmallFleets) {
  std::mt19937_64 random(20'261'124);
  const auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  int planned = 0;
  int optimal = 0;
  for (int time = 0; time < 600; ++time) {
    std::vector<PlannedJob> jobs(1 + random() % 4);
    for (PlannedJob& job : jobs) {
      job = {.weight = real(0, 1),
             .deviation = random() % 8 == 0 ? 0 : real(0.01, 0.5),
             .instances = static_cast<int64_t>(1 + random() % 16),
             .cost = random() % 3 == 0 ? static_cast<double>(1 + random() % 5) : real(0.1, 5)};
    }
    std::vector<int64_t> all;
    for (const PlannedJob& job : jobs) {
      all.push_back(job.instances);
    }
    const PlanGoal goal{.deviation = std::sqrt(variance(jobs, all)) * real(1.0, 2.5) + 1e-9,
                        .min_instances = static_cast<int64_t>(1 + random() % 4),
                        .is_finite_population = random() % 2 == 0};
    const auto plan = plan_observations(jobs, goal);
    ASSERT_TRUE(plan) << plan.error().text();
    ++planned;
    optimal += plan->is_optimal;
    EXPECT_LE(plan->deviation, goal.deviation * (1 + 1e-9));
    EXPECT_GE(plan->cost, plan->min_cost * (1 - 1e-9));
    EXPECT_NEAR(plan->cost, AllPlans(jobs, goal).min_cost(), 1e-9 * plan->cost) << "case " << time;
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_GE(plan->observe[i], std::min(goal.min_instances, jobs[i].instances));
      EXPECT_LE(plan->observe[i], jobs[i].instances);
    }
  }
  EXPECT_EQ(planned, 600);
  EXPECT_EQ(optimal, 600);
}

// The least cost at which that variance is met, where costs are whole: the least variance for each cost, job by job.
int64_t min_cost_by_dynamic_program(const std::vector<PlannedJob>& jobs, int64_t least, double allowed) {
  std::vector<double> variance_of{0};
  for (const PlannedJob& job : jobs) {
    const auto cost = static_cast<int64_t>(job.cost);
    std::vector<double> with_job(variance_of.size() + static_cast<size_t>(cost * job.instances), INFINITY);
    for (size_t before = 0; before < variance_of.size(); ++before) {
      for (int64_t n = std::min(least, job.instances); n <= job.instances; ++n) {
        double& best = with_job[before + static_cast<size_t>(cost * n)];
        best = std::min(
            best, variance_of[before] + std::pow(job.weight * job.deviation, 2) / static_cast<double>(n));
      }
    }
    variance_of = std::move(with_job);
  }
  const auto enough = std::ranges::find_if(variance_of, [&](double v) { return v <= allowed * (1 + 1e-12); });
  return enough - variance_of.begin();
}

// In whatever unit costs are: a power of two, so that it rounds nothing.
TEST(ObservationPlan, AgreesWithADynamicProgramWhereManyAreEqual) {
  std::mt19937_64 random(20'261'125);
  for (int time = 0; time < 200; ++time) {
    std::vector<PlannedJob> jobs(2 + random() % 6);
    for (PlannedJob& job : jobs) {
      job = {.weight = static_cast<double>(1 + random() % 2),
             .deviation = static_cast<double>(random() % 4) / 8,
             .instances = static_cast<int64_t>(1 + random() % 12),
             .cost = static_cast<double>(1 + random() % 3)};
    }
    std::vector<int64_t> all;
    for (const PlannedJob& job : jobs) {
      all.push_back(job.instances);
    }
    const int64_t least = 1 + static_cast<int64_t>(random() % 3);
    const double allowed = variance(jobs, all) * (1 + static_cast<double>(random() % 64) / 16) + 1e-9;
    const int64_t expected = min_cost_by_dynamic_program(jobs, least, allowed);
    const double unit = std::ldexp(1.0, static_cast<int>(random() % 3) * 990 - 990);
    for (PlannedJob& job : jobs) {
      job.cost *= unit;
    }
    const auto plan = plan_observations(jobs, {.deviation = std::sqrt(allowed), .min_instances = least});
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_TRUE(plan->is_optimal) << "case " << time;
    EXPECT_DOUBLE_EQ(plan->cost, static_cast<double>(expected) * unit) << "case " << time;
    EXPECT_LE(plan->min_cost, plan->cost * (1 + 1e-9));
  }
}

PlannedJob plain_job(double cost = 1) {
  return {.weight = 1, .deviation = 0.1, .instances = kMany, .cost = cost};
}

TEST(ObservationPlan, OfAMillionEqualJobsIsExact) {
  const std::vector<PlannedJob> jobs(1'000'000, plain_job());
  // Halfway between ten of each and eleven: (1 / 10 + 1 / 11) / 2 of a job's variance each.
  const double deviation = std::sqrt(1e6 * 0.01 * (1 / 10.0 + 1 / 11.0) / 2);
  const auto plan = plan_observations(jobs, {.deviation = deviation});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->is_optimal);
  EXPECT_NEAR(plan->cost, 10'500'000, 1);
  EXPECT_THAT(plan->observe, ::testing::Each(::testing::AnyOf(10, 11)));
}

TEST(ObservationPlan, OfManyEqualJobsAndAnotherOne) {
  std::vector<PlannedJob> jobs(100'000, plain_job());
  jobs.push_back(plain_job(1.7));
  const auto plan = plan_observations(jobs, {.deviation = std::sqrt(1e5 * 0.01 / 10.5)});
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->deviation, std::sqrt(1e5 * 0.01 / 10.5) * (1 + 1e-9));
  EXPECT_LE(plan->cost, plan->min_cost * 1.003) << "half of them are off by a part in twenty";
}

TEST(ObservationPlan, WhatDoesNotVaryIsNotObservedMoreHoweverCheapItIs) {
  std::vector<PlannedJob> jobs;
  for (int i = 0; i < 50; ++i) {
    jobs.push_back(plain_job(1));
    jobs.push_back(plain_job(1.3));
  }
  const PlanGoal goal{.deviation = std::sqrt(100 * 0.01 / 10.5)};
  const auto without = plan_observations(jobs, goal);
  ASSERT_TRUE(without);
  for (const double cost : {1e-10, 1e-300, 1e300}) {
    jobs.push_back({.weight = 1, .deviation = 0, .instances = kMany, .cost = cost});
    const auto with = plan_observations(jobs, goal);
    jobs.pop_back();
    ASSERT_TRUE(with);
    EXPECT_EQ(with->observe.back(), 4);
    EXPECT_EQ(std::vector<int64_t>(with->observe.begin(), with->observe.end() - 1), without->observe);
  }
}

TEST(ObservationPlan, OfCostsAndDeviationsOfAnySize) {
  for (const double unit : {1e-300, 1e-150, 1e150, 1e300}) {
    std::vector<PlannedJob> jobs = customer();
    jobs[0].cost = unit;
    jobs[1].cost = unit;
    const auto plan = plan_observations(jobs, {.deviation = 0.015});
    ASSERT_TRUE(plan);
    EXPECT_DOUBLE_EQ(plan->cost, 69 * unit);
    EXPECT_TRUE(plan->is_optimal);
    EXPECT_THAT(plan_observations(jobs, {.deviation = 0.015, .rounding = Rounding::kUp})->observe,
                ElementsAre(21, 49));
    // One is free beside the other.
    jobs[1].cost = 1;
    const auto mixed = plan_observations(jobs, {.deviation = 0.015});
    ASSERT_TRUE(mixed);
    EXPECT_LE(mixed->deviation, 0.015 * (1 + 1e-9));
    EXPECT_LE(mixed->cost, plan->cost + 69) << "no more than what equal costs lead to";
  }
  std::vector<PlannedJob> tiny = customer();
  tiny[0].deviation *= 1e-100;
  tiny[1].deviation *= 1e-100;
  EXPECT_DOUBLE_EQ(plan_observations(tiny, {.deviation = 0.015e-100})->cost, 69);
}

TEST(ObservationPlan, OfManyJobsComesNearTheBound) {
  std::mt19937_64 random(7);
  const auto real = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<PlannedJob> jobs(5000);
  for (PlannedJob& job : jobs) {
    const double quota = std::exp(4 * real());
    job = {.weight = quota,
           .deviation = 0.02 + 0.3 * real(),
           .instances = static_cast<int64_t>(4 + random() % 2000),
           .cost = quota};
  }
  double all = 0;
  for (const PlannedJob& job : jobs) {
    all += job.weight;
  }
  for (PlannedJob& job : jobs) {
    job.weight /= all;
  }
  for (const double deviation : {0.0005, 0.0003}) {
    const auto plan = plan_observations(jobs, {.deviation = deviation});
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_LE(plan->deviation, deviation * (1 + 1e-9));
    EXPECT_LE(plan->cost, plan->min_cost * 1.0005);
  }
}

}  // namespace
}  // namespace plimsoll::query
