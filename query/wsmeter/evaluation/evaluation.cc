#include "query/wsmeter/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>

#include "query/wsmeter/planning/effect_plan.h"

namespace plimsoll::query {
namespace {

// More than anybody observes, and few enough for a double to count them.
constexpr int64_t kVeryMany = int64_t{1} << 50;

// Of the job in the fleet; 0: very many.
int64_t population_of(const ComparedJob& job, const EvaluationMethod& method) {
  return method.is_finite_population ? job.job.instances.value_or(static_cast<int64_t>(job.current.size()))
                                     : 0;
}

VariancePart current_part(double weight, const ComparedJob& job, double ratio,
                          const EvaluationMethod& method) {
  if (!method.is_current_sample) {
    return {};
  }
  const int64_t population = method.is_finite_population ? job.job.instances.value_or(0) : 0;
  return part_of_sample(weight * ratio, spread_of(job.current), population, job.kurtosis);
}

void add_job(double weight, const ComparedJob& job, const EvaluationMethod& method, MetricSum& sum) {
  const Spread test = spread_of(job.other);
  sum.add_value(weight * test.mean);
  sum.add_variance(part_of_sample(weight, test, population_of(job, method), job.kurtosis));
  sum.add_variance(current_part(weight, job, test.mean, method));
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kCannotTell:
      break;
  }
  return "cannot tell";
}

Verdict verdict_of(const MetricEstimate& estimate) {
  if (estimate.low() > 1) {
    return Verdict::kBetter;
  }
  return estimate.high() < 1 ? Verdict::kWorse : Verdict::kCannotTell;
}

Evaluation evaluate(std::span<const ComparedJob> jobs, const EvaluationMethod& method) {
  MetricSum all;
  Evaluation evaluation;
  for (const ComparedJob& job : jobs) {
    add_job(job.weight, job, method, all);
    MetricSum alone;
    add_job(1, job, method, alone);
    evaluation.jobs.push_back(alone.estimate());
  }
  evaluation.metric = all.estimate();
  return evaluation;
}

Result<std::vector<int64_t>> observations_for(std::span<const ComparedJob> jobs,
                                              const EvaluationMethod& method, double margin) {
  std::vector<PlannedJob> planned;
  MetricSum known;
  for (const ComparedJob& job : jobs) {
    const Spread test = spread_of(job.other);
    const auto current = static_cast<int64_t>(job.current.size());
    const int64_t population = population_of(job, method);
    planned.push_back({.weight = job.weight,
                       .deviation = std::sqrt(test.variance),
                       .instances = population == 0 ? kVeryMany : std::max(population, test.count),
                       .cost = job.cost_of_one(current)});
    known.add_variance(current_part(job.weight, job, test.mean, method));
  }
  auto plan = plan_for_effect(planned, {.effect = margin,
                                        .known_variance = std::pow(known.estimate().deviation, 2),
                                        .known_degrees = known.estimate().degrees,
                                        .is_finite_population = method.is_finite_population});
  return plan ? Result<std::vector<int64_t>>(std::move(plan->plan.observe)) : propagate(plan);
}

}  // namespace plimsoll::query
