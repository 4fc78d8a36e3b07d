#include "query/wsmeter/planning/budget_plan.h"

#include <cmath>
#include <utility>

namespace plimsoll::query {
namespace {

// Of deviations: finer than anybody would tell plans apart by.
constexpr double kResolution = 1e-7;
// What is so much less than the loosest plan's deviation is none.
constexpr double kNone = 1e-12;
// So large a deviation that the least of each job has it, and so small a one that its square is a number.
constexpr double kAny = 1e150;

PlanGoal goal_for(const BudgetGoal& goal, double deviation) {
  return {.deviation = deviation,
          .min_instances = goal.min_instances,
          .is_finite_population = goal.is_finite_population,
          .rounding = goal.rounding};
}

// The least deviation for which `is_within` holds, as it does for `high` and all above what is looked for; in steps of a half, and then ever finer ones.
template <typename IsWithin>
double min_within(double high, IsWithin is_within) {
  const double none = high * kNone;
  double low = high / 2;
  while (low > none && is_within(low)) {
    high = low;
    low /= 2;
  }
  while (high > low * (1 + kResolution) && low > none) {
    const double middle = std::sqrt(low * high);
    (is_within(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Result<BudgetPlan> plan_for_budget(std::span<const PlannedJob> jobs, const BudgetGoal& goal) {
  if (!std::isfinite(goal.cost) || goal.cost <= 0) {
    return fail(ErrorCode::kInvalid, "the budget is {}, must be above 0", goal.cost);
  }
  auto loosest = plan_observations(jobs, goal_for(goal, kAny));
  if (!loosest) {
    return propagate(loosest);
  }
  if (loosest->cost > goal.cost) {
    return fail(ErrorCode::kNotFound,
                "the minimum instances per job cost {:.6g}, more than the budget of {:.6g}", loosest->cost,
                goal.cost);
  }
  BudgetPlan best{.plan = std::move(*loosest)};
  const auto is_affordable = [&](double deviation) {
    auto plan = plan_observations(jobs, goal_for(goal, deviation));
    const bool is_within = plan && plan->cost <= goal.cost;
    if (is_within && plan->deviation < best.plan.deviation) {
      best.plan = std::move(*plan);
    }
    return is_within;
  };
  min_within(best.plan.deviation, is_affordable);
  best.min_deviation = min_within(best.plan.deviation, [&](double deviation) {
    const auto plan = plan_observations(jobs, goal_for(goal, deviation));
    return plan && plan->min_cost <= goal.cost;
  });
  return best;
}

Result<std::vector<ObservationPlan>> plan_curve(std::span<const PlannedJob> jobs, const PlanGoal& goal,
                                                double step, size_t most) {
  std::vector<ObservationPlan> curve;
  PlanGoal next = goal;
  next.deviation = kAny;
  while (curve.size() < most) {
    auto plan = plan_observations(jobs, next);
    if (!plan && curve.empty()) {
      return propagate(plan);
    }
    if (!plan || (!curve.empty() && curve.back().deviation == 0)) {
      break;
    }
    next.deviation = plan->deviation * step;
    curve.push_back(std::move(*plan));
  }
  return curve;
}

}  // namespace plimsoll::query
