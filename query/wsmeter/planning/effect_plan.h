// How many instances to observe so that the 95 % interval has a margin, or so that it tells an effect from none: plan_observations() with Student's
// quantiles of the degrees of freedom that the plan itself has.
//
// An effect E is found with probability P where E >= (t_0.975 + t_P) x deviation x (1 + E), the metric's deviation growing with what makes jobs
// faster (Cohen, Statistical Power Analysis, 2nd ed. 1988,
// chapter 2; the t variables stand for the noncentral one). A margin is the effect that is found in half of all cases: t_0.5 = 0.
//
// Pure: no I/O; any thread.
#pragma once

#include <limits>
#include <span>

#include "base/result.h"
#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::query {

struct EffectGoal {
  double effect = 0;  // as a share of the metric, above 0
  double power =
      0.5;  // with which it is to be found, at least 0.5 and below 1; 0.5: the effect is the margin
  // Of the metric, which no observation takes away: of a current fleet that is itself a sample.
  double known_variance = 0;
  double known_degrees = std::numeric_limits<double>::infinity();  // of freedom, that it is known with
  int64_t min_instances = 4;                                       // as PlanGoal has them
  bool is_finite_population = false;
  Rounding rounding = Rounding::kMinCost;
};

struct EffectPlan {
  ObservationPlan plan;  // deviation: with the known variance
  double degrees = 0;    // of freedom (Welch-Satterthwaite); infinity where nothing varies
  double margin = 0;     // of the 95 % interval
};

// As plan_observations(); kNotFound also where the known variance alone is too large.
Result<EffectPlan> plan_for_effect(std::span<const PlannedJob> jobs, const EffectGoal& goal);

}  // namespace plimsoll::query
