#include "query/wsmeter/planning/observation_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/wsmeter/planning/plan_search.h"

namespace plimsoll::query {
namespace {

Status check(std::span<const PlannedJob> jobs, const PlanGoal& goal) {
  const auto is_number = [](double value) { return std::isfinite(value) && value >= 0; };
  if (jobs.empty()) {
    return fail(ErrorCode::kInvalid, "no jobs to plan for");
  }
  if (!is_number(goal.deviation) || goal.deviation == 0) {
    return fail(ErrorCode::kInvalid, "the standard deviation is {}, must be above 0", goal.deviation);
  }
  if (goal.min_instances < 1) {
    return fail(ErrorCode::kInvalid, "the minimum instances per job are {}, must be at least 1",
                goal.min_instances);
  }
  for (const PlannedJob& job : jobs) {
    const auto number = &job - jobs.data() + 1;
    if (!is_number(job.weight) || !is_number(job.deviation)) {
      return fail(ErrorCode::kInvalid,
                  "job {}: weight {} and standard deviation {} must be finite and not negative", number,
                  job.weight, job.deviation);
    }
    if (job.instances < 1) {
      return fail(ErrorCode::kInvalid, "job {}: {} instances, must be at least 1", number, job.instances);
    }
    if (!is_number(job.cost) || job.cost == 0) {
      return fail(ErrorCode::kInvalid, "job {}: cost is {}, must be above 0", number, job.cost);
    }
  }
  return {};
}

std::vector<PlanTerm> terms_of(std::span<const PlannedJob> jobs, const PlanGoal& goal) {
  std::vector<PlanTerm> terms;
  terms.reserve(jobs.size());
  for (const PlannedJob& job : jobs) {
    const double scale = job.weight * job.deviation;
    terms.push_back({.variance = scale * scale,
                     .cost = job.cost,
                     .min = std::min(goal.min_instances, job.instances),
                     .max = job.instances});
  }
  return terms;
}

double variance_of(std::span<const PlanTerm> terms, std::span<const int64_t> counts) {
  double variance = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    variance += terms[i].variance / static_cast<double>(counts[i]);
  }
  return variance;
}

double cost_of(std::span<const PlanTerm> terms, std::span<const int64_t> counts) {
  double cost = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    cost += terms[i].cost * static_cast<double>(counts[i]);
  }
  return cost;
}

// Of the metric where all instances are observed.
double variance_of_all(std::span<const PlanTerm> terms) {
  double variance = 0;
  for (const PlanTerm& term : terms) {
    variance += term.variance / static_cast<double>(term.max);
  }
  return variance;
}

}  // namespace

double deviation_of_all(std::span<const PlannedJob> jobs) {
  return std::sqrt(variance_of_all(terms_of(jobs, {})));
}

Result<ObservationPlan> plan_observations(std::span<const PlannedJob> jobs, const PlanGoal& goal) {
  if (auto checked = check(jobs, goal); !checked) {
    return propagate(checked);
  }
  const std::vector<PlanTerm> terms = terms_of(jobs, goal);
  const double left_of_all = variance_of_all(terms);
  const double correction = goal.is_finite_population ? left_of_all : 0;
  const double allowed = goal.deviation * goal.deviation + correction;
  if (left_of_all > allowed * (1 + kRelativeError)) {
    return fail(ErrorCode::kNotFound,
                "even observing all instances gives a standard deviation of {:.4g}, more than {:.4g}",
                std::sqrt(left_of_all), goal.deviation);
  }
  const PartedPlan parted = best_parted(terms, allowed);
  ObservationPlan plan;
  plan.min_cost = parted.cost;
  if (goal.rounding == Rounding::kUp) {
    plan.observe = rounded_up(terms, parted);
  } else {
    WholePlan whole = best_whole(terms, allowed);
    plan.observe = std::move(whole.counts);
    plan.is_optimal = whole.is_optimal;
  }
  plan.cost = cost_of(terms, plan.observe);
  plan.deviation = std::sqrt(std::max(0.0, variance_of(terms, plan.observe) - correction));
  return plan;
}

}  // namespace plimsoll::query
