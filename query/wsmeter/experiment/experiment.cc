#include "query/wsmeter/experiment/experiment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/wsmeter/planning/effect_plan.h"

namespace plimsoll::query {
namespace {

// More than anybody observes, and few enough for a double to count them.
constexpr int64_t kVeryMany = int64_t{1} << 50;
constexpr MinInstances kTwoOfEach{.current = 2, .other = 2};
constexpr double kEnoughCoverage = 0.9;
constexpr double kNotedQuota = 0.01;
constexpr double kSameTime = 0.1;  // of the load
// To eight times as much and an eighth.
constexpr double kCurveStep = 0.9;
constexpr int kCurveSteps = 20;

// What plans of one control have in common.
struct Basis {
  Comparison control;  // beside itself
  std::vector<PlannedJob> planned = {};
  MetricEstimate known = {};  // of the control's being a sample
};

struct Plan {
  Comparison control;
  EffectPlan plan;
};

EffectGoal effect_goal(const ExperimentGoal& goal, const MetricEstimate& known) {
  const bool is_to_detect = goal.detect > 0;
  return {.effect = is_to_detect ? goal.detect : goal.margin,
          .power = is_to_detect ? goal.power : 0.5,
          .known_variance = known.deviation * known.deviation,
          .known_degrees = known.degrees,
          .min_instances = goal.min_instances};
}

Result<Basis> basis_of(const Arm& control, std::span<const JobQuota> quotas) {
  auto comparison = compare_arms(control.instances, control.instances, quotas, kTwoOfEach);
  if (!comparison) {
    return propagate(comparison, "the control");
  }
  Basis basis{.control = std::move(*comparison)};
  MetricSum known;
  for (const ComparedJob& job : basis.control.jobs) {
    const Spread spread = spread_of(job.current);
    basis.planned.push_back({.weight = job.weight,
                             .deviation = std::sqrt(spread.variance),
                             .instances = kVeryMany,
                             .cost = job.cost_of_one(spread.count)});
    known.add_variance(part_of_sample(job.weight, spread, 0, job.kurtosis));
  }
  basis.known = known.estimate();
  return basis;
}

Result<EffectPlan> plan_for(const Basis& basis, const ExperimentGoal& goal) {
  auto plan = plan_for_effect(basis.planned, effect_goal(goal, basis.known));
  return plan ? std::move(plan)
              : with_hint(propagate(plan, "planning the test"),
                          "observe the control arm for a longer time before the test, or on more machines");
}

Result<Plan> plan_of(const Arm& control, std::span<const JobQuota> quotas, const ExperimentGoal& goal) {
  auto basis = basis_of(control, quotas);
  if (!basis) {
    return propagate(basis);
  }
  auto plan = plan_for(*basis, goal);
  return plan ? Result<Plan>(Plan{.control = std::move(basis->control), .plan = std::move(*plan)})
              : propagate(plan);
}

size_t observed(const Arm& arm, const std::string& job) {
  const auto found = arm.instances.find(job);
  return found == arm.instances.end() ? 0 : found->second.size();
}

std::string aim_text(const ExperimentGoal& goal) {
  return goal.detect > 0 ? fmt::format("a change of {:.4g} % is detected with a probability of {:.4g} %",
                                       100 * goal.detect, 100 * goal.power)
                         : fmt::format("the metric has a margin of {:.4g} %", 100 * goal.margin);
}

std::string mix_warning(const LoadMix& mix) {
  std::string jobs;
  for (const JobLoad& load : mix.jobs) {
    const double apart = std::abs(load.test - load.control);
    if (apart < mix.distance / 10 || &load - mix.jobs.data() == 3) {
      break;
    }
    jobs += fmt::format("{}{} {:.3g} % in the control, {:.3g} % in the test", jobs.empty() ? "" : "; ",
                        load.job, 100 * load.control, 100 * load.test);
  }
  return fmt::format(
      "the load mix differs between the arms (distance {:.3g}, p = {:.2g}): {}. Changes of jobs may be "
      "caused by the load",
      mix.distance, mix.p_value, jobs);
}

std::string progress_warning(const Result<Progress>& progress) {
  if (!progress) {
    return fmt::format("the target cannot be reached: {}", progress.error().text());
  }
  return progress->is_complete ? std::string()
                               : fmt::format(
                                     "only {:.3g} % of the planned instances were observed: stopping early "
                                     "when the result looks good finds changes that do not exist",
                                     100 * progress->share);
}

void warn_of_left_out(const Comparison& comparison, std::span<const JobQuota> quotas,
                      std::vector<std::string>& warnings) {
  if (comparison.coverage < kEnoughCoverage) {
    warnings.push_back(
        fmt::format("the compared jobs have only {:.3g} % of the quota", 100 * comparison.coverage));
  }
  double all = 0;
  for (const JobQuota& quota : quotas) {
    all += quota.quota;
  }
  for (const ExcludedJob& job : comparison.excluded) {
    if (job.quota > kNotedQuota * all) {
      warnings.push_back(fmt::format("{}, with {:.3g} % of the quota, is left out: {}", job.job,
                                     100 * job.quota / all, job.reason));
    }
  }
}

std::vector<std::string> warnings_of(const Arm& control, const Arm& test, std::span<const JobQuota> quotas,
                                     const Findings& findings) {
  std::vector<std::string> warnings;
  if (std::string warning = progress_warning(findings.progress); !warning.empty()) {
    warnings.push_back(std::move(warning));
  }
  if (findings.mix.has_moved()) {
    warnings.push_back(mix_warning(findings.mix));
  }
  if (control.early_share && test.early_share &&
      std::abs(*control.early_share - *test.early_share) > kSameTime) {
    warnings.push_back(
        fmt::format("the arms were not observed over the same time: {:.3g} % of the control's load, and "
                    "{:.3g} % of the test's, "
                    "were in its first half",
                    100 * *control.early_share, 100 * *test.early_share));
  }
  if (const size_t both = instances_of_both(control, test); both > 0) {
    warnings.push_back(
        fmt::format("{} instances are in both arms: they changed arms during the test, or the filters of the "
                    "arms overlap",
                    both));
  }
  warn_of_left_out(findings.comparison, quotas, warnings);
  for (const auto& [arm, notes] : {std::pair("control", &control.notes), std::pair("test", &test.notes)}) {
    for (const std::string& note : *notes) {
      warnings.push_back(fmt::format("{}: {}", arm, note));
    }
  }
  return warnings;
}

}  // namespace

Result<Table> experiment_plan(const Arm& control, std::span<const JobQuota> quotas,
                              const ExperimentGoal& goal) {
  const auto planned = plan_of(control, quotas, goal);
  if (!planned) {
    return propagate(planned);
  }
  Table table;
  table.columns = {
      {"job", ""},      {"weight", "share"},      {"control", "instances"}, {"observe", "instances"},
      {"cost", "cost"}, {"top_coverage", "share"}};
  int64_t all = 0;
  double top = 0;
  for (size_t i = 0; i < planned->control.jobs.size(); ++i) {
    const ComparedJob& job = planned->control.jobs[i];
    const int64_t observe = planned->plan.plan.observe[i];
    const auto there = static_cast<int64_t>(job.current.size());
    all += observe;
    top += job.weight;
    table.rows.push_back({job.job.job, job.weight, there, observe,
                          job.cost_of_one(there) * static_cast<double>(observe),
                          top * planned->control.coverage});
  }
  table.notes = {
      fmt::format("{} instances of the test, which cost {:.6g}, so that {}", all, planned->plan.plan.cost,
                  aim_text(goal)),
      fmt::format("{} jobs, {:.4g} % of the quota; the control counts as a sample, of {} instances",
                  planned->control.jobs.size(), 100 * planned->control.coverage, instances_of(control))};
  for (const ExcludedJob& job : planned->control.excluded) {
    table.notes.push_back(fmt::format("left out: {}: {}", job.job, job.reason));
  }
  return table;
}

Result<Table> experiment_curve(const Arm& control, std::span<const JobQuota> quotas,
                               const ExperimentGoal& goal) {
  const auto basis = basis_of(control, quotas);
  if (!basis) {
    return propagate(basis);
  }
  if (const auto wanted = plan_for(*basis, goal); !wanted) {
    return propagate(wanted);
  }
  Table table;
  table.columns = {{"aim", "share"}, {"margin", "share"}, {"instances", "instances"}, {"cost", "cost"}};
  int64_t last = -1;
  for (int step = -kCurveSteps; step <= kCurveSteps; ++step) {
    ExperimentGoal other = goal;
    (goal.detect > 0 ? other.detect : other.margin) *= std::pow(kCurveStep, step);
    const auto plan = plan_for(*basis, other);
    if (!plan) {
      table.notes.emplace_back("narrower margins need a larger control arm");
      break;
    }
    int64_t instances = 0;
    for (const int64_t observe : plan->plan.observe) {
      instances += observe;
    }
    // Wide margins have the least number of instances all.
    if (instances != last) {
      table.rows.push_back(
          {goal.detect > 0 ? other.detect : other.margin, plan->margin, instances, plan->plan.cost});
    }
    last = instances;
  }
  return table;
}

Result<Progress> experiment_progress(const Arm& control, const Arm& test, std::span<const JobQuota> quotas,
                                     const ExperimentGoal& goal) {
  const auto planned = plan_of(control, quotas, goal);
  if (!planned) {
    return propagate(planned);
  }
  Progress progress;
  progress.table.columns = {{"job", ""},
                            {"weight", "share"},
                            {"control", "instances"},
                            {"test", "instances"},
                            {"wanted", "instances"}};
  int64_t wanted = 0;
  int64_t there = 0;
  for (size_t i = 0; i < planned->control.jobs.size(); ++i) {
    const ComparedJob& job = planned->control.jobs[i];
    const int64_t observe = planned->plan.plan.observe[i];
    const auto tested = static_cast<int64_t>(observed(test, job.job.job));
    wanted += observe;
    there += std::min(observe, tested);
    progress.table.rows.push_back(
        {job.job.job, job.weight, static_cast<int64_t>(job.current.size()), tested, observe});
  }
  progress.share = static_cast<double>(there) / static_cast<double>(wanted);
  progress.is_complete = there == wanted;
  progress.table.notes.push_back(fmt::format("{} of {} instances of the test ({:.3g} %), so that {}", there,
                                             wanted, 100 * progress.share, aim_text(goal)));
  return progress;
}

Result<Findings> experiment_findings(const Arm& control, const Arm& test, std::span<const JobQuota> quotas,
                                     const ExperimentGoal& goal) {
  auto comparison = compare_arms(control.instances, test.instances, quotas, kTwoOfEach);
  if (!comparison) {
    return propagate(comparison);
  }
  Evaluation evaluation = evaluate(comparison->jobs, {.is_current_sample = true});
  LoadMix mix = load_mix(comparison->jobs, control, test);
  Findings findings{.comparison = std::move(*comparison),
                    .evaluation = std::move(evaluation),
                    .mix = std::move(mix),
                    .progress = experiment_progress(control, test, quotas, goal),
                    .warnings = {}};
  findings.warnings = warnings_of(control, test, quotas, findings);
  return findings;
}

}  // namespace plimsoll::query
