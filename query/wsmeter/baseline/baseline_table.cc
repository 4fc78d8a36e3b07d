#include "query/wsmeter/baseline/baseline_table.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "query/wsmeter/baseline/independence.h"
#include "query/wsmeter/baseline/machine_model.h"
#include "query/wsmeter/baseline/normality.h"
#include "query/wsmeter/planning/effect_plan.h"

namespace plimsoll::query {
namespace {

constexpr size_t kSampleSize = 4;
constexpr uint64_t kSeed = 1;
constexpr double kWantedCoverage = 0.9;
constexpr double kMachineMargin = 0.01;

// Movable: nodes of a map stay where they are.
struct Fleet {
  PerformanceTable performance;
  const InstancesByJob* current = nullptr;
  Comparison comparison;
};

Result<Fleet> read_fleet(std::string_view performance_csv, std::string_view jobs_csv,
                         const BaselineRequest& request) {
  const auto quotas = read_job_quotas(jobs_csv);
  if (!quotas) {
    return propagate(quotas, "the table of jobs");
  }
  auto performance = read_performance(performance_csv);
  if (!performance) {
    return propagate(performance, "the table of performance");
  }
  Fleet fleet{.performance = std::move(*performance), .comparison = {}};
  const auto current = platform_of(fleet.performance, request.current);
  const auto other = request.other.empty() ? current : platform_of(fleet.performance, request.other);
  if (!current || !other) {
    return propagate(!current ? current : other);
  }
  auto comparison = compare_arms(**current, **other, *quotas, {.current = 1, .other = 1});
  if (!comparison) {
    return propagate(comparison);
  }
  fleet.current = *current;
  fleet.comparison = std::move(*comparison);
  return fleet;
}

// Of the jobs so far, the heaviest first.
class Top {
 public:
  void add(const ComparedJob& job) {
    weight_ += job.weight;
    variance_ += job.weight * job.weight * spread_of(job.current).variance;
    metric_ += job.weight * spread_of(job.other).mean;
  }
  double weight() const { return weight_; }
  double deviation() const { return std::sqrt(variance_) / weight_; }
  double metric() const { return metric_ / weight_; }

 private:
  double weight_ = 0;
  double variance_ = 0;
  double metric_ = 0;
};

double change(double value, double from) {
  return from > 0 ? value / from - 1 : 0;
}

std::vector<Value> row_of(const ComparedJob& job, const std::optional<MeansOfSamples>& means) {
  const Spread current = spread_of(job.current);
  const double relative = std::sqrt(current.variance);
  const bool has_deviation = current.count > 1;
  return {job.job.job,
          job.weight,
          job.current_mean,
          has_deviation ? Value(relative * job.current_mean) : Value(),
          has_deviation ? Value(relative) : Value(),
          current.count,
          {},
          {},
          {},
          means ? Value(means->skewness) : Value(),
          means ? Value(means->tail_share) : Value()};
}

std::string normality_note(const std::vector<std::optional<MeansOfSamples>>& means,
                           std::span<const ComparedJob> jobs) {
  double weight = 0;
  double tail = 0;
  double most = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (const auto& of_job = means[i]; of_job.has_value()) {
      weight += jobs[i].weight;
      tail += jobs[i].weight * of_job->tail_share;
      most = std::max(most, std::abs(of_job->skewness));
    }
  }
  if (weight == 0) {
    return "normality: unknown, no job has 30 different instances";
  }
  return fmt::format(
      "normality: of means of {} instances, {:.2g} % are beyond +-1.96 standard deviations (by quota; "
      "normal: 5 %), skewness up to {:.2g}; intervals account for the kurtosis of jobs",
      kSampleSize, 100 * tail / weight, most);
}

std::string independence_note(const Fleet& fleet) {
  const bool by_machine = fleet.performance.has_machines;
  if (!by_machine && !fleet.performance.has_racks) {
    return "independence: assumed, the table has no column machine or rack";
  }
  const auto pairs =
      correlated_pairs(fleet.comparison.jobs, *fleet.current, by_machine ? Place::kMachine : Place::kRack);
  if (pairs.empty()) {
    return "independence: assumed, no two of the ten heaviest jobs share 10 places";
  }
  const Independence independence = judge_independence(fleet.comparison.jobs, pairs);
  const auto strongest =
      std::ranges::max_element(pairs, {}, [](const JobPair& pair) { return std::abs(pair.correlation); });
  return fmt::format(
      "independence: {} of {} pairs of heavy jobs are correlated by more than chance on shared {} (most: {} "
      "and {}, "
      "r = {:.2f}); recommended: {}",
      independence.significant, pairs.size(), by_machine ? "machines" : "racks", strongest->first,
      strongest->second, strongest->correlation, recommendation(independence));
}

// What a margin costs job by job, and by machines.
std::string machine_note(const Fleet& fleet) {
  const auto machines = machines_of(fleet.comparison.jobs, *fleet.current);
  if (machines.size() < 2) {
    return "machines: fewer than two in the table";
  }
  double all = 0;
  for (const MachineSums& machine : machines) {
    all += machine.cost;
  }
  const size_t count = machines_for(machines, kMachineMargin);
  const double of_machines = all * static_cast<double>(count) / static_cast<double>(machines.size());
  std::vector<PlannedJob> planned;
  for (const ComparedJob& job : fleet.comparison.jobs) {
    const Spread current = spread_of(job.current);
    planned.push_back({.weight = job.weight,
                       .deviation = std::sqrt(current.variance),
                       .instances = current.count,
                       .cost = job.cost_of_one(current.count)});
  }
  const auto plan = plan_for_effect(planned, {.effect = kMachineMargin, .is_finite_population = true});
  return fmt::format(
      "machines: a margin of {:.4g} % needs {} of {} machines at a cost of {:.4g}; single instances {}",
      100 * kMachineMargin, count, machines.size(), of_machines,
      plan ? fmt::format("{:.4g}", plan->plan.cost) : plan.error().message);
}

void add_notes(const Fleet& fleet, const std::vector<std::optional<MeansOfSamples>>& means, Table& table) {
  const Comparison& comparison = fleet.comparison;
  Top top;
  size_t count = 0;
  while (count < comparison.jobs.size() && top.weight() < kWantedCoverage) {
    top.add(comparison.jobs[count++]);
  }
  table.notes.push_back(fmt::format("{} jobs, {:.4g} % of the quota; {} of them have {:.4g} % of that",
                                    comparison.jobs.size(), 100 * comparison.coverage, count,
                                    100 * top.weight()));
  for (const ExcludedJob& job : comparison.excluded) {
    table.notes.push_back(fmt::format("left out: {}: {}", job.job, job.reason));
  }
  table.notes.push_back(normality_note(means, comparison.jobs));
  table.notes.push_back(independence_note(fleet));
  if (fleet.performance.has_machines) {
    table.notes.push_back(machine_note(fleet));
  }
}

void add_rows(const Fleet& fleet, bool has_other, const std::vector<std::optional<MeansOfSamples>>& means,
              Table& table) {
  Top all;
  for (const ComparedJob& job : fleet.comparison.jobs) {
    all.add(job);
  }
  Top top;
  for (size_t i = 0; i < fleet.comparison.jobs.size(); ++i) {
    const ComparedJob& job = fleet.comparison.jobs[i];
    top.add(job);
    std::vector<Value> row = row_of(job, means[i]);
    row[6] = top.weight() * fleet.comparison.coverage;
    row[7] = top.deviation();
    row[8] = change(top.deviation(), all.deviation());
    if (has_other) {
      row.insert(row.end(), {spread_of(job.other).mean, top.metric(), change(top.metric(), all.metric())});
    }
    table.rows.push_back(std::move(row));
  }
}

}  // namespace

Result<Table> baseline_table(std::string_view performance_csv, std::string_view jobs_csv,
                             const BaselineRequest& request) {
  const auto fleet = read_fleet(performance_csv, jobs_csv, request);
  if (!fleet) {
    return propagate(fleet);
  }
  Random random(kSeed);
  std::vector<std::optional<MeansOfSamples>> means;
  for (const ComparedJob& job : fleet->comparison.jobs) {
    means.push_back(means_of_samples(job.current, kSampleSize, random));
  }
  Table table;
  table.columns = {{"job", ""},
                   {"weight", "share"},
                   {"mean", ""},
                   {"stddev", ""},
                   {"relative_stddev", "share"},
                   {"instances", ""},
                   {"top_coverage", "share"},
                   {"top_stddev", "share"},
                   {"stddev_vs_all_jobs", "share"},
                   {"skewness", ""},
                   {"share_beyond_1_96_sd", "share"}};
  const bool has_other = !request.other.empty();
  if (has_other) {
    table.columns.insert(table.columns.end(),
                         {{"ratio", ""}, {"top_metric", ""}, {"metric_vs_all_jobs", "share"}});
  }
  add_notes(*fleet, means, table);
  add_rows(*fleet, has_other, means, table);
  return table;
}

}  // namespace plimsoll::query
