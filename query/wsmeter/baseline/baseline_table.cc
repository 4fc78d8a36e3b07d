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

// Borrows what was observed.
struct Fleet {
  const PerformanceTable* performance;
  const InstancesByJob* current;
  Comparison comparison;
};

Result<Fleet> compare_platforms(const ObservedFleet& observed, const BaselineRequest& request) {
  const auto current = platform_of(observed.performance, request.current);
  const auto other = request.other.empty() ? current : platform_of(observed.performance, request.other);
  if (!current || !other) {
    return propagate(!current ? current : other);
  }
  auto comparison = compare_arms(**current, **other, observed.jobs, {.current = 1, .other = 1});
  if (!comparison) {
    return propagate(comparison);
  }
  return Fleet{
      .performance = &observed.performance, .current = *current, .comparison = std::move(*comparison)};
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

BaselineRow row_of(const ComparedJob& job, const std::optional<MeansOfSamples>& means) {
  const Spread current = spread_of(job.current);
  const double relative = std::sqrt(current.variance);
  const bool has_deviation = current.count > 1;
  return {.job = job.job.job,
          .weight = job.weight,
          .mean = job.current_mean,
          .stddev = has_deviation ? std::optional(relative * job.current_mean) : std::nullopt,
          .relative_stddev = has_deviation ? std::optional(relative) : std::nullopt,
          .instances = current.count,
          .skewness = means ? std::optional(means->skewness) : std::nullopt,
          .tail_share = means ? std::optional(means->tail_share) : std::nullopt};
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
  const bool by_machine = fleet.performance->has_machines;
  if (!by_machine && !fleet.performance->has_racks) {
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

void add_notes(const Fleet& fleet, const std::vector<std::optional<MeansOfSamples>>& means,
               std::vector<std::string>& notes) {
  const Comparison& comparison = fleet.comparison;
  Top top;
  size_t count = 0;
  while (count < comparison.jobs.size() && top.weight() < kWantedCoverage) {
    top.add(comparison.jobs[count++]);
  }
  notes.push_back(fmt::format("{} jobs, {:.4g} % of the quota; {} of them have {:.4g} % of that",
                              comparison.jobs.size(), 100 * comparison.coverage, count, 100 * top.weight()));
  for (const ExcludedJob& job : comparison.excluded) {
    notes.push_back(fmt::format("left out: {}: {}", job.job, job.reason));
  }
  notes.push_back(normality_note(means, comparison.jobs));
  notes.push_back(independence_note(fleet));
  if (fleet.performance->has_machines) {
    notes.push_back(machine_note(fleet));
  }
}

std::vector<BaselineRow> rows_of(const Fleet& fleet, bool has_other,
                                 const std::vector<std::optional<MeansOfSamples>>& means) {
  std::vector<BaselineRow> rows;
  Top all;
  for (const ComparedJob& job : fleet.comparison.jobs) {
    all.add(job);
  }
  Top top;
  for (size_t i = 0; i < fleet.comparison.jobs.size(); ++i) {
    const ComparedJob& job = fleet.comparison.jobs[i];
    top.add(job);
    BaselineRow& row = rows.emplace_back(row_of(job, means[i]));
    row.top_coverage = top.weight() * fleet.comparison.coverage;
    row.top_stddev = top.deviation();
    row.stddev_vs_all_jobs = change(top.deviation(), all.deviation());
    if (has_other) {
      row.other = {.ratio = spread_of(job.other).mean,
                   .top_metric = top.metric(),
                   .metric_vs_all_jobs = change(top.metric(), all.metric())};
    }
  }
  return rows;
}

Value known_or_absent(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

}  // namespace

Result<Baseline> baseline_of(const ObservedFleet& observed, const BaselineRequest& request) {
  const auto fleet = compare_platforms(observed, request);
  if (!fleet) {
    return propagate(fleet);
  }
  Random random(kSeed);
  std::vector<std::optional<MeansOfSamples>> means;
  for (const ComparedJob& job : fleet->comparison.jobs) {
    means.push_back(means_of_samples(job.current, kSampleSize, random));
  }
  Baseline baseline{.has_other = !request.other.empty()};
  add_notes(*fleet, means, baseline.notes);
  baseline.rows = rows_of(*fleet, baseline.has_other, means);
  return baseline;
}

Table table_of(const Baseline& baseline) {
  Table table;
  table.notes = baseline.notes;
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
  if (baseline.has_other) {
    table.columns.insert(table.columns.end(),
                         {{"ratio", ""}, {"top_metric", ""}, {"metric_vs_all_jobs", "share"}});
  }
  for (const BaselineRow& row : baseline.rows) {
    std::vector<Value>& cells = table.rows.emplace_back();
    cells = {row.job,
             row.weight,
             row.mean,
             known_or_absent(row.stddev),
             known_or_absent(row.relative_stddev),
             row.instances,
             row.top_coverage,
             row.top_stddev,
             row.stddev_vs_all_jobs,
             known_or_absent(row.skewness),
             known_or_absent(row.tail_share)};
    if (baseline.has_other) {
      cells.insert(cells.end(), {row.other.ratio, row.other.top_metric, row.other.metric_vs_all_jobs});
    }
  }
  return table;
}

}  // namespace plimsoll::query
