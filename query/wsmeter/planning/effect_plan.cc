#include "query/wsmeter/planning/effect_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

// Until one suffices, each plan has more observations than the one before; in practice the third is the last.
constexpr int kMaxRounds = 50;
constexpr double kUpperTail = 0.975;
constexpr double kRounding = 1e-9;

// A job that is observed as a whole has no variance left, and one observed once no degrees.
double degrees_of(std::span<const PlannedJob> jobs, const std::vector<int64_t>& observe,
                  const EffectGoal& goal) {
  double variance = goal.known_variance;
  double squares = variance * variance / goal.known_degrees;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto count = static_cast<double>(observe[i]);
    const double left = goal.is_finite_population ? 1 - count / static_cast<double>(jobs[i].instances) : 1;
    const double part = std::pow(jobs[i].weight * jobs[i].deviation, 2) / count * left;
    variance += part;
    squares += part * part / std::max(1.0, count - 1);
  }
  return squares > 0 ? variance * variance / squares : std::numeric_limits<double>::infinity();
}

double deviations_in_effect(double power, double degrees) {
  const double found = power > 0.5 ? statistics::student_t_quantile(power, degrees) : 0;
  return statistics::student_t_quantile(kUpperTail, degrees) + found;
}

// What makes jobs faster makes them scatter by as much more, and it is then that the effect is to be found.
double wanted_deviation(const EffectGoal& goal, double degrees) {
  const double scatter = goal.power > 0.5 ? 1 + goal.effect : 1;
  return goal.effect / scatter / deviations_in_effect(goal.power, degrees);
}

Status check(const EffectGoal& goal) {
  if (!std::isfinite(goal.effect) || goal.effect <= 0) {
    return fail(ErrorCode::kInvalid, "the effect or margin is {}, must be above 0", goal.effect);
  }
  if (std::isnan(goal.power) || goal.power < 0.5 || goal.power >= 1) {
    return fail(ErrorCode::kInvalid, "the power is {}, must be at least 0.5 and below 1", goal.power);
  }
  return {};
}

// The deviation that observations may leave where the metric may have `wanted`.
Result<double> left_for_observations(double wanted, double known_variance) {
  const double left = wanted * wanted - known_variance;
  if (left > 0) {
    return std::sqrt(left);
  }
  return fail(ErrorCode::kNotFound,
              "the sample of the current fleet alone has a standard deviation of {:.4g}, more than {:.4g}",
              std::sqrt(known_variance), wanted);
}

Result<ObservationPlan> plan_of(std::span<const PlannedJob> jobs, const EffectGoal& goal, double wanted) {
  const auto left = left_for_observations(wanted, goal.known_variance);
  if (!left) {
    return propagate(left);
  }
  auto plan = plan_observations(jobs, {.deviation = *left,
                                       .min_instances = goal.min_instances,
                                       .is_finite_population = goal.is_finite_population,
                                       .rounding = goal.rounding});
  if (plan) {
    plan->deviation = std::sqrt(plan->deviation * plan->deviation + goal.known_variance);
  }
  return plan;
}

}  // namespace

Result<EffectPlan> plan_for_effect(std::span<const PlannedJob> jobs, const EffectGoal& goal) {
  if (auto checked = check(goal); !checked) {
    return propagate(checked);
  }
  std::optional<EffectPlan> best;
  double wanted = wanted_deviation(goal, std::numeric_limits<double>::infinity());
  for (int round = 0; round < kMaxRounds; ++round) {
    auto plan = plan_of(jobs, goal, wanted);
    if (!plan) {
      return propagate(plan);
    }
    const double degrees = degrees_of(jobs, plan->observe, goal);
    wanted = wanted_deviation(goal, degrees);
    const bool suffices = plan->deviation <= wanted * (1 + kRounding);
    if (best && (!suffices || plan->cost >= best->plan.cost)) {
      break;
    }
    if (suffices) {
      // With as many observations the quantile is smaller than it was taken to be: fewer may do.
      const double margin = deviations_in_effect(0.5, degrees) * plan->deviation;
      best = EffectPlan{.plan = std::move(*plan), .degrees = degrees, .margin = margin};
    }
  }
  return best ? Result<EffectPlan>(std::move(*best))
              : fail(ErrorCode::kNotFound, "no plan has enough degrees of freedom for {:.4g}", goal.effect);
}

}  // namespace plimsoll::query
