// The reverse of plan_observations(): the least deviation that a budget buys; and how the one falls with the other.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::query {

struct BudgetGoal {
  double cost = 0;  // that observing may have, above 0
  int64_t min_instances = 4;
  bool is_finite_population = false;
  Rounding rounding = Rounding::kMinCost;
};

struct BudgetPlan {
  ObservationPlan
      plan;  // what it costs is at most the budget; min_cost and is_optimal are those of a plan for its deviation
  double min_deviation = 0;  // no plan within the budget has a smaller one, if instances could be parted
};

// kNotFound where the least of each job costs more than the budget, with what that costs. Some 60 plans: 0.2 s for 5,000 jobs.
Result<BudgetPlan> plan_for_budget(std::span<const PlannedJob> jobs, const BudgetGoal& goal);

// Plans from the loosest, the least of each job, to ever narrower ones, each with at most `step` (below 1) times the deviation of the one before; until
// there are `most`, or all instances do not suffice. `goal.deviation` is passed over.
Result<std::vector<ObservationPlan>> plan_curve(std::span<const PlannedJob> jobs, const PlanGoal& goal,
                                                double step, size_t most);

}  // namespace plimsoll::query
