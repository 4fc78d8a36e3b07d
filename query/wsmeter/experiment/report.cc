#include "query/wsmeter/experiment/report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/time.h"

namespace plimsoll::query {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kJobsShown = 30;

std::string change_text(const MetricEstimate& estimate) {
  return fmt::format("{:+.3g} % ± {:.2g} %", 100 * (estimate.value - 1), 100 * estimate.margin);
}

// In a cell of a table, and in a line: what people call jobs may have any character.
std::string cell(std::string_view text) {
  constexpr std::string_view kMeansSomething = "|\\*_`<[]#";
  std::string escaped;
  for (const char c : printable(text)) {
    if (kMeansSomething.contains(c)) {
      escaped += '\\';
    }
    escaped += c == '\n' || c == '\r' ? ' ' : c;
  }
  return escaped;
}

std::string verdict_text(const MetricEstimate& metric) {
  const Verdict verdict = verdict_of(metric);
  if (verdict != Verdict::kCannotTell) {
    return fmt::format("**{}**: the metric changes by {}.", name_of(verdict), change_text(metric));
  }
  return fmt::format(
      "**inconclusive**: the metric changes by {}, which may be an improvement or a regression of at most "
      "{:.2g} %.",
      change_text(metric), 100 * std::max(metric.high() - 1, 1 - metric.low()));
}

std::string filters_text(const std::vector<std::string>& arm, const std::vector<std::string>& both) {
  std::vector<std::string> quoted;
  for (const auto* filters : {&arm, &both}) {
    for (const std::string& filter : *filters) {
      quoted.push_back(cell(filter));
    }
  }
  return fmt::format("{}", fmt::join(quoted, ", "));
}

int64_t from_of(const Arm& control, const Arm& test) {
  return std::min(control.from_ns, test.from_ns);
}

int64_t to_of(const Arm& control, const Arm& test) {
  return std::max(control.to_ns, test.to_ns);
}

const JobLoad& load_of(const LoadMix& mix, const std::string& job) {
  return *std::ranges::find(mix.jobs, job, &JobLoad::job);
}

std::string aim_sentence(const ExperimentGoal& goal) {
  return goal.detect > 0 ? fmt::format("detect a change of {:.4g} % with a probability of {:.4g} %",
                                       100 * goal.detect, 100 * goal.power)
                         : fmt::format("a margin of {:.4g} %", 100 * goal.margin);
}

std::string jobs_table(const Findings& findings) {
  std::string text =
      "| job | weight | change | control | test | load, control | load, test | verdict |\n"
      "|---|---|---|---|---|---|---|---|\n";
  const auto& jobs = findings.comparison.jobs;
  for (size_t i = 0; i < std::min(jobs.size(), kJobsShown); ++i) {
    const MetricEstimate& estimate = findings.evaluation.jobs[i];
    const JobLoad& load = load_of(findings.mix, jobs[i].job.job);
    text +=
        fmt::format("| {} | {:.3g} % | {} | {} | {} | {:.3g} % | {:.3g} % | {} |\n", cell(jobs[i].job.job),
                    100 * jobs[i].weight, change_text(estimate), jobs[i].current.size(), jobs[i].other.size(),
                    100 * load.control, 100 * load.test, name_of(verdict_of(estimate)));
  }
  if (jobs.size() > kJobsShown) {
    text += fmt::format("\nand {} jobs with a lower weight.\n", jobs.size() - kJobsShown);
  }
  return text;
}

}  // namespace

std::string report_markdown(const ExperimentText& text, const ExperimentGoal& goal, const Arm& control,
                            const Arm& test, const Findings& findings) {
  const MetricEstimate& metric = findings.evaluation.metric;
  std::string report = fmt::format("# {}\n\n{}\n\n## Verdict\n\n{}\n\n", cell(text.name), cell(text.feature),
                                   verdict_text(metric));
  report += fmt::format(
      "- Metric: {} per job, normalized to the control's mean, weighted by CPU quota (WSMeter, ASPLOS 2018); "
      "95 % interval with {:.3g} degrees of freedom.\n",
      text.ratio, metric.degrees);
  report += fmt::format("- Control: {}: {} instances.\n", filters_text(text.control, text.both),
                        instances_of(control));
  report +=
      fmt::format("- Test: {}: {} instances.\n", filters_text(text.test, text.both), instances_of(test));
  report += fmt::format("- Time: {} to {}, both arms.\n", format_time(from_of(control, test)),
                        format_time(to_of(control, test)));
  report += fmt::format("- Coverage: {} jobs with {:.4g} % of the quota.\n", findings.comparison.jobs.size(),
                        100 * findings.comparison.coverage);
  report += fmt::format("- Aim: {}; {}.\n", aim_sentence(goal),
                        findings.progress ? fmt::format("{:.3g} % of the planned instances were observed",
                                                        100 * findings.progress->share)
                                          : std::string("out of reach"));
  report += fmt::format(
      "- Load mix: distance {:.3g} between the arms (0: the same, 2: nothing in common), p = {:.2g}.\n",
      findings.mix.distance, findings.mix.p_value);
  report += "\n## Warnings\n\n";
  for (const std::string& warning : findings.warnings) {
    report += fmt::format("- {}.\n", cell(warning));
  }
  if (findings.warnings.empty()) {
    report += "None.\n";
  }
  report += "\n## Jobs\n\n" + jobs_table(findings);
  if (!findings.comparison.excluded.empty()) {
    report += "\n## Left out\n\n";
    for (const ExcludedJob& job : findings.comparison.excluded) {
      report += fmt::format("- {}: {}.\n", cell(job.job), job.reason);
    }
  }
  report +=
      "\nEach job's change has its own 95 % interval: of twenty jobs without a change, one appears changed. "
      "Load is the share of\nthe total load of a job's instances, for as many instances per job as in the "
      "control arm.\n";
  return report;
}

std::string report_json(const ExperimentText& text, const Arm& control, const Arm& test,
                        const Findings& findings) {
  const MetricEstimate& metric = findings.evaluation.metric;
  Json document{{"name", text.name},
                {"feature", text.feature},
                {"control", text.control},
                {"test", text.test},
                {"both", text.both},
                {"ratio", text.ratio},
                {"from", format_time(from_of(control, test))},
                {"to", format_time(to_of(control, test))},
                {"verdict", name_of(verdict_of(metric))},
                {"change", metric.value - 1},
                {"margin", metric.margin},
                {"degrees", metric.degrees},
                {"coverage", findings.comparison.coverage},
                {"instances", {{"control", instances_of(control)}, {"test", instances_of(test)}}},
                {"wanted_share", findings.progress ? Json(findings.progress->share) : Json()},
                {"load_mix", {{"distance", findings.mix.distance}, {"p_value", findings.mix.p_value}}},
                {"warnings", findings.warnings},
                {"jobs", Json::array()},
                {"left_out", Json::array()}};
  for (size_t i = 0; i < findings.comparison.jobs.size(); ++i) {
    const ComparedJob& job = findings.comparison.jobs[i];
    const MetricEstimate& estimate = findings.evaluation.jobs[i];
    const JobLoad& load = load_of(findings.mix, job.job.job);
    document["jobs"].push_back({{"job", job.job.job},
                                {"weight", job.weight},
                                {"change", estimate.value - 1},
                                {"margin", estimate.margin},
                                {"control", job.current.size()},
                                {"test", job.other.size()},
                                {"verdict", name_of(verdict_of(estimate))},
                                {"control_load", load.control},
                                {"test_load", load.test}});
  }
  for (const ExcludedJob& job : findings.comparison.excluded) {
    document["left_out"].push_back({{"job", job.job}, {"quota", job.quota}, {"reason", job.reason}});
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::query
