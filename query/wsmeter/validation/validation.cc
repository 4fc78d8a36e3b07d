#include "query/wsmeter/validation/validation.h"

#include <cmath>
#include <numeric>

#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/validation/job_clusters.h"
#include "query/wsmeter/validation/machine_clusters.h"
#include "query/wsmeter/validation/scaling.h"

namespace plimsoll::query {
namespace {

Status check(const ValidationRequest& request) {
  if (request.trials < 1) {
    return fail(ErrorCode::kInvalid, "the number of trials is {}, must be at least 1", request.trials);
  }
  if (!std::isfinite(request.scale) || request.scale <= 0) {
    return fail(ErrorCode::kInvalid, "the scale is {}, must be above 0", request.scale);
  }
  if (std::isnan(request.share) || request.share < 0 || request.share > 1) {
    return fail(ErrorCode::kInvalid, "the share of the quota is {}, must be from 0 to 1", request.share);
  }
  return {};
}

Result<Comparison> compare_platforms(const ObservedFleet& fleet, const ValidationRequest& request) {
  const auto current = platform_of(fleet.performance, request.current);
  const auto other = platform_of(fleet.performance, request.other);
  if (!current || !other) {
    return propagate(!current ? current : other);
  }
  // Both arms: plans are made from the deviations of the one, intervals from those of the other.
  return compare_arms(**current, **other, fleet.jobs, {.current = 2, .other = 2});
}

Result<EffectPlan> plan_of(std::span<const ComparedJob> jobs, const EffectGoal& goal) {
  std::vector<PlannedJob> planned;
  for (const ComparedJob& job : jobs) {
    const auto instances = static_cast<int64_t>(job.other.size());
    planned.push_back({.weight = job.weight,
                       .deviation = std::sqrt(spread_of(job.current).variance),
                       .instances = instances,
                       .cost = job.cost_of_one(instances)});
  }
  return plan_for_effect(planned, goal);
}

// What became of the trials of a model.
struct Tally {
  int64_t trials = 0;
  int64_t covered = 0;   // intervals that contain the true value
  int64_t detected = 0;  // intervals that exclude the current platform's 1
  double margin = 0;     // sums
  double cost = 0;

  void add(const MetricEstimate& estimate, double truth, double cluster_cost) {
    // A cluster of all there are knows the truth but for rounding.
    constexpr double kRounding = 1e-12;
    ++trials;
    covered += std::abs(estimate.value - truth) <= estimate.margin + kRounding * truth;
    detected += std::abs(estimate.value - 1) > estimate.margin + kRounding;
    margin += estimate.margin;
    cost += cluster_cost;
  }

  std::vector<Value> row(std::string model, double coverage) const {
    const auto all = static_cast<double>(trials);
    return {std::move(model),
            trials,
            static_cast<double>(covered) / all,
            static_cast<double>(detected) / all,
            margin / all,
            coverage,
            cost / all};
  }
};

Tally try_jobs(JobClusters& clusters, double truth, int64_t trials, Random& random) {
  Tally tally;
  const double cost = clusters.cost();
  for (int64_t trial = 0; trial < trials; ++trial) {
    tally.add(clusters.draw(random), truth, cost);
  }
  return tally;
}

Tally try_machines(std::vector<MachineSums>& machines, size_t count, double truth, int64_t trials,
                   Random& random) {
  Tally tally;
  const std::span all(machines);
  for (int64_t trial = 0; trial < trials; ++trial) {
    random.draw(all, count);
    const auto sample = all.first(count);
    double cost = 0;
    for (const MachineSums& machine : sample) {
      cost += machine.cost;
    }
    tally.add(metric_of_machines(sample, all.size()), truth, cost);
  }
  return tally;
}

std::string asked_note(const EffectGoal& goal, const EffectPlan& plan) {
  const std::string asked =
      goal.power > 0.5
          ? fmt::format("to detect an effect of {:.4g} % of the metric with a probability of {:.4g} %",
                        100 * goal.effect, 100 * goal.power)
          : fmt::format("for a margin of {:.4g} %", 100 * goal.effect);
  return fmt::format(
      "planned {}: {} instances per cluster; the margin would be {:.3g} % with the standard deviations of "
      "the current platform",
      asked, std::accumulate(plan.plan.observe.begin(), plan.plan.observe.end(), int64_t{0}),
      100 * plan.margin);
}

void add_excluded(const Comparison& comparison, Table& table) {
  for (const ExcludedJob& job : comparison.excluded) {
    table.notes.push_back(fmt::format("left out: {}: {}", job.job, job.reason));
  }
}

Table empty_table() {
  Table table;
  table.columns = {{"model", ""},      {"trials", ""},      {"interval_coverage", "share"},
                   {"power", "share"}, {"margin", "share"}, {"coverage", "share"},
                   {"cost", "cost"}};
  return table;
}

void add_machines(const Comparison& comparison, const JobClusters& clusters, double truth,
                  const ValidationRequest& request, Table& table) {
  // Of its own, so that the machines are the same whatever the job clusters drew.
  Random random(request.seed + 1);
  std::vector<MachineSums> machines = pack_machines(comparison.jobs, random);
  if (machines.size() < 2) {
    table.notes.emplace_back("all instances fit on one machine: no machines are drawn");
    return;
  }
  const double margin = clusters.expected().margin;
  const size_t count = machines_for(machines, margin);
  table.rows.push_back(
      try_machines(machines, count, truth, request.trials, random).row("machine", comparison.coverage));
  table.notes.push_back(
      fmt::format("machines: {} of {} per cluster, for the mean margin of job clusters, {:.3g} %", count,
                  machines.size(), 100 * margin));
}

}  // namespace

Result<Table> validation_table(const ObservedFleet& fleet, const ValidationRequest& request) {
  if (auto checked = check(request); !checked) {
    return propagate(checked);
  }
  auto comparison = compare_platforms(fleet, request);
  if (!comparison) {
    return propagate(comparison);
  }
  Random random(request.seed);
  const double effect = scale_share(comparison->jobs, request.scale, request.share, random);
  const double truth = true_metric(comparison->jobs);
  const auto plan = plan_of(comparison->jobs, request.goal);
  if (!plan) {
    return propagate(plan, "planning test clusters");
  }
  Table table = empty_table();
  table.notes.push_back(asked_note(request.goal, *plan));
  table.notes.push_back(fmt::format("the new platform's metric is {:.6g}, the current one's 1", truth));
  if (request.scale != 1) {
    table.notes.push_back(fmt::format("of which {:+.4g} % by --scale {} on {:.4g} % of the quota",
                                      100 * effect, request.scale, 100 * request.share));
  }
  JobClusters clusters(comparison->jobs, plan->plan.observe);
  if (request.model != ClusterModel::kMachine) {
    table.rows.push_back(try_jobs(clusters, truth, request.trials, random).row("job", comparison->coverage));
  }
  if (request.model != ClusterModel::kJob) {
    add_machines(*comparison, clusters, truth, request, table);
  }
  add_excluded(*comparison, table);
  return table;
}

}  // namespace plimsoll::query
