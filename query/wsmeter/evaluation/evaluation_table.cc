#include "query/wsmeter/evaluation/evaluation_table.h"

#include <cmath>

namespace plimsoll::query {
namespace {

constexpr std::string_view kAll = "(all)";

Result<Comparison> compare_platforms(const ObservedFleet& fleet, const PerformanceTable* test,
                                     const EvaluationRequest& request) {
  if (request.margin && (!std::isfinite(*request.margin) || *request.margin <= 0)) {
    return fail(ErrorCode::kInvalid, "the margin is {}, must be above 0", *request.margin);
  }
  const auto current = platform_of(fleet.performance, request.current);
  if (!current) {
    return propagate(current, "the table of performance");
  }
  const auto other = platform_of(test != nullptr ? *test : fleet.performance, request.other);
  if (!other) {
    return propagate(other, "{}",
                     test != nullptr ? "the table of test observations" : "the table of performance");
  }
  // A census may have one instance; a sample of one has no deviation.
  return compare_arms(**current, **other, fleet.jobs,
                      {.current = request.method.is_current_sample ? size_t{2} : size_t{1}, .other = 2});
}

// How many of each job should have been observed; nothing where those observed suffice, or no number would.
std::vector<Value> wanted_of(const Comparison& comparison, const Evaluation& evaluation,
                             const EvaluationRequest& request, Table& table) {
  std::vector<Value> wanted(comparison.jobs.size());
  if (!request.margin || evaluation.metric.margin <= *request.margin) {
    return wanted;
  }
  const auto planned = observations_for(comparison.jobs, request.method, *request.margin);
  if (!planned) {
    table.notes.push_back(fmt::format("a margin of {:.4g} % cannot be reached: {}", 100 * *request.margin,
                                      planned.error().message));
    return wanted;
  }
  int64_t missing = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = (*planned)[i];
    missing += std::max(int64_t{0}, (*planned)[i] - static_cast<int64_t>(comparison.jobs[i].other.size()));
  }
  table.notes.push_back(
      fmt::format("the margin is wider than {:.4g} %: observe {} more instances (column wanted)",
                  100 * *request.margin, missing));
  return wanted;
}

std::vector<Value> row_of(std::string job, double weight, const MetricEstimate& estimate, int64_t observed,
                          Value wanted) {
  return {std::move(job),
          weight,
          estimate.value,
          estimate.margin,
          observed,
          std::move(wanted),
          std::string(name_of(verdict_of(estimate))),
          std::string()};
}

void add_rows(const Comparison& comparison, const Evaluation& evaluation, std::vector<Value> wanted,
              Table& table) {
  int64_t observed = 0;
  for (const ComparedJob& job : comparison.jobs) {
    observed += static_cast<int64_t>(job.other.size());
  }
  table.rows.push_back(row_of(std::string(kAll), 1, evaluation.metric, observed, {}));
  for (size_t i = 0; i < comparison.jobs.size(); ++i) {
    const ComparedJob& job = comparison.jobs[i];
    table.rows.push_back(row_of(job.job.job, job.weight, evaluation.jobs[i],
                                static_cast<int64_t>(job.other.size()), std::move(wanted[i])));
  }
  for (const ExcludedJob& job : comparison.excluded) {
    table.rows.push_back({job.job, {}, {}, {}, {}, {}, std::string("left out"), job.reason});
  }
}

std::string verdict_note(const MetricEstimate& metric) {
  return fmt::format("{}: the metric changes by {:+.4g} % +-{:.3g} % (95 %, {:.3g} degrees of freedom)",
                     name_of(verdict_of(metric)), 100 * (metric.value - 1), 100 * metric.margin,
                     metric.degrees);
}

}  // namespace

Result<Table> evaluation_table(const ObservedFleet& fleet, const PerformanceTable* test,
                               const EvaluationRequest& request) {
  const auto comparison = compare_platforms(fleet, test, request);
  if (!comparison) {
    return propagate(comparison);
  }
  const Evaluation evaluation = evaluate(comparison->jobs, request.method);
  Table table;
  table.columns = {{"job", ""},      {"weight", "share"},     {"ratio", ""},   {"ratio_margin", ""},
                   {"observed", ""}, {"wanted", "instances"}, {"verdict", ""}, {"reason", ""}};
  table.notes.push_back(verdict_note(evaluation.metric));
  table.notes.push_back(fmt::format("{} jobs, {:.4g} % of the quota; {} left out", comparison->jobs.size(),
                                    100 * comparison->coverage, comparison->excluded.size()));
  table.notes.push_back(request.method.is_current_sample
                            ? "the current platform is treated as a sample"
                            : "the current platform is treated as fully observed (no sampling error); give "
                              "--current-sample if it is a sample");
  std::vector<Value> wanted = wanted_of(*comparison, evaluation, request, table);
  add_rows(*comparison, evaluation, std::move(wanted), table);
  return table;
}

}  // namespace plimsoll::query
