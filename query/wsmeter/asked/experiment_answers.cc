#include "query/wsmeter/asked/experiment_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query/operations/jobs.h"
#include "query/wsmeter/observations.h"

namespace plimsoll::query {
namespace {

constexpr size_t kAllRows = 100'000'000;

Result<Arm> observe_arm(const AskedExperiment& asked, const Selection& selection, const Snapshot& snapshot,
                        const LiveFleet& fleet) {
  const auto seen =
      observe({.selection = selection, .ratio = asked.ratio, .limit = kAllRows}, snapshot, fleet);
  return seen ? Result<Arm>(arm_of(*seen)) : propagate(seen);
}

struct Weights {
  std::vector<JobQuota> quotas;
  std::vector<std::string> notes;
  std::string unit = "CPUs";
};

// Of what it did, where nothing says what it may do.
Weights weights_by_load(const Arm& control) {
  Weights weights;
  for (const auto& [job, loads] : control.loads) {
    double load = 0;
    for (const double of_instance : loads) {
      load += of_instance;
    }
    weights.quotas.push_back({.job = job, .quota = load, .instances = std::nullopt, .cost = std::nullopt});
  }
  weights.unit = "load";
  weights.notes.emplace_back("no CPU quotas reported: the weight of a job is what the control arm did of it");
  return weights;
}

Result<Weights> weights_of(const AskedExperiment& asked, const Arm& control, const LiveFleet& fleet) {
  // Of live machines: of jobs that are gone, daemons report no quota any more.
  auto quotas = job_quotas_in(jobs({.limit = kAllRows, .now_ns = asked.now_ns}, fleet));
  if (quotas && !quotas->empty()) {
    return Weights{.quotas = std::move(*quotas), .notes = {}, .unit = "CPUs"};
  }
  const bool has_none = quotas.has_value() || quotas.error().code == ErrorCode::kInvalid;
  return has_none ? Result<Weights>(weights_by_load(control)) : propagate(quotas);
}

struct Arms {
  Arm control;
  Arm test;
  Weights weights;
};

Result<Arms> observe_arms(const AskedExperiment& asked, const Snapshot& snapshot, const LiveFleet& fleet) {
  auto control = observe_arm(asked, asked.control, snapshot, fleet);
  if (!control) {
    return propagate(control, "the control");
  }
  auto test = observe_arm(asked, asked.test, snapshot, fleet);
  if (!test) {
    return propagate(test, "the test");
  }
  auto weights = weights_of(asked, *control, fleet);
  return weights
             ? Result<Arms>(Arms{
                   .control = std::move(*control), .test = std::move(*test), .weights = std::move(*weights)})
             : propagate(weights);
}

Coverage coverage_of(const Arm& control, const Arm& test) {
  Coverage coverage;
  coverage.from_ns = std::min(control.from_ns, test.from_ns);
  coverage.to_ns = std::max(control.to_ns, test.to_ns);
  return coverage;
}

// What either arm did in the first half of the time: whether both were there all of it.
Status observe_early_shares(const AskedExperiment& asked, const Snapshot& snapshot, const LiveFleet& fleet,
                            Arms& arms) {
  const Coverage coverage = coverage_of(arms.control, arms.test);
  const int64_t middle_ns = coverage.from_ns + (coverage.to_ns - coverage.from_ns) / 2;
  for (const auto& [selection, arm] :
       {std::pair(&asked.control, &arms.control), std::pair(&asked.test, &arms.test)}) {
    Selection early = *selection;
    early.until_ns = middle_ns;
    const auto in_half = observe_arm(asked, early, snapshot, fleet);
    if (!in_half && in_half.error().code != ErrorCode::kNotFound) {
      return propagate(in_half);
    }
    const double all = load_of(*arm);
    arm->early_share = all > 0 && in_half ? load_of(*in_half) / all : 0;
  }
  return {};
}

std::unexpected<Error> fail_running(const Result<Progress>& progress) {
  return with_hint(
      fail(ErrorCode::kConflict, "the experiment is running: {}",
           progress ? progress->table.notes.front() : "its progress is unknown: " + progress.error().text()),
      "its result is shown when all wanted instances were observed, or when the time given as until has "
      "passed: stopping early, when the result looks good, finds changes that do not exist");
}

std::vector<Value> result_row(std::string job, double weight, const MetricEstimate& estimate, size_t control,
                              size_t test) {
  return {std::move(job),
          weight,
          estimate.value - 1,
          estimate.margin,
          estimate.low() - 1,
          estimate.high() - 1,
          std::string(name_of(verdict_of(estimate))),
          static_cast<int64_t>(control),
          static_cast<int64_t>(test),
          std::string()};
}

Table result_table(const Arms& arms, const Findings& findings) {
  Table table;
  table.columns = {{"job", ""},
                   {"weight", "share"},
                   {"change", "share"},
                   {"change_margin", "share"},
                   {"change_low", "share"},
                   {"change_high", "share"},
                   {"verdict", ""},
                   {"control", "instances"},
                   {"test", "instances"},
                   {"reason", ""}};
  const MetricEstimate& metric = findings.evaluation.metric;
  table.notes = {fmt::format("{}: the metric changes by {:+.4g} % ±{:.3g} %", name_of(verdict_of(metric)),
                             100 * (metric.value - 1), 100 * metric.margin),
                 fmt::format("{} jobs, {:.4g} % of the quota; {} left out", findings.comparison.jobs.size(),
                             100 * findings.comparison.coverage, findings.comparison.excluded.size())};
  table.notes.insert(table.notes.end(), findings.warnings.begin(), findings.warnings.end());
  table.notes.insert(table.notes.end(), arms.weights.notes.begin(), arms.weights.notes.end());
  table.rows.push_back(result_row("(all)", 1, metric, instances_of(arms.control), instances_of(arms.test)));
  for (size_t i = 0; i < findings.comparison.jobs.size(); ++i) {
    const ComparedJob& job = findings.comparison.jobs[i];
    table.rows.push_back(result_row(job.job.job, job.weight, findings.evaluation.jobs[i], job.current.size(),
                                    job.other.size()));
  }
  for (const ExcludedJob& job : findings.comparison.excluded) {
    table.rows.push_back({job.job, {}, {}, {}, {}, {}, std::string("left out"), {}, {}, job.reason});
  }
  table.coverage = coverage_of(arms.control, arms.test);
  return table;
}

using OfControl = Result<Table> (*)(const Arm& control, std::span<const JobQuota> quotas,
                                    const ExperimentGoal& goal);

Result<Table> of_control(const AskedExperiment& asked, const Snapshot& snapshot, const LiveFleet& fleet,
                         OfControl make) {
  const auto control = observe_arm(asked, asked.control, snapshot, fleet);
  if (!control) {
    return propagate(control, "the control");
  }
  const auto weights = weights_of(asked, *control, fleet);
  auto table = weights ? make(*control, weights->quotas, asked.goal) : propagate(weights);
  if (!table) {
    return propagate(table);
  }
  std::ranges::replace(table->columns | std::views::transform(&TableColumn::unit), "cost", weights->unit);
  table->notes.insert(table->notes.end(), weights->notes.begin(), weights->notes.end());
  table->coverage = coverage_of(*control, *control);
  return table;
}

}  // namespace

Result<Table> asked_experiment_plan(const AskedExperiment& asked, const Snapshot& snapshot,
                                    const LiveFleet& fleet) {
  return of_control(asked, snapshot, fleet, experiment_plan);
}

Result<Table> asked_experiment_curve(const AskedExperiment& asked, const Snapshot& snapshot,
                                     const LiveFleet& fleet) {
  return of_control(asked, snapshot, fleet, experiment_curve);
}

Result<Table> asked_experiment_progress(const AskedExperiment& asked, const Snapshot& snapshot,
                                        const LiveFleet& fleet) {
  const auto arms = observe_arms(asked, snapshot, fleet);
  auto progress = arms ? experiment_progress(arms->control, arms->test, arms->weights.quotas, asked.goal)
                       : propagate(arms);
  if (!progress) {
    return propagate(progress);
  }
  Table table = std::move(progress->table);
  table.notes.insert(table.notes.end(), arms->weights.notes.begin(), arms->weights.notes.end());
  table.coverage = coverage_of(arms->control, arms->test);
  return table;
}

Result<Table> asked_experiment_result(const AskedExperiment& asked, const Snapshot& snapshot,
                                      const LiveFleet& fleet) {
  auto arms = observe_arms(asked, snapshot, fleet);
  if (!arms) {
    return propagate(arms);
  }
  if (!asked.has_ended()) {
    const auto progress = experiment_progress(arms->control, arms->test, arms->weights.quotas, asked.goal);
    if (!progress || !progress->is_complete) {
      return fail_running(progress);
    }
  }
  if (const auto observed = observe_early_shares(asked, snapshot, fleet, *arms); !observed) {
    return propagate(observed);
  }
  const auto findings = experiment_findings(arms->control, arms->test, arms->weights.quotas, asked.goal);
  return findings ? Result<Table>(result_table(*arms, *findings)) : propagate(findings);
}

}  // namespace plimsoll::query
