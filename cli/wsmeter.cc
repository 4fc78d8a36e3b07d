#include "cli/wsmeter.h"

#include <fmt/core.h>

#include "base/file.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {
namespace {

// Ten million jobs.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

Result<std::string> read_table_file(const std::string& path) {
  auto text = read_file(path == "-" ? "/dev/stdin" : path, kMaxTableBytes);
  return text ? std::move(text) : propagate(text, "reading a table");
}

Status print(const Result<query::Table>& table, query::TableForm form) {
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, form, style_of_output()));
  return {};
}

// One of them is above 0.
Status check_goal(double margin, double detect) {
  return margin > 0 || detect > 0
             ? Status()
             : fail(ErrorCode::kInvalid, "say what is wanted: --margin SHARE, or --detect EFFECT --power P");
}

struct TableTexts {
  std::string performance;
  std::string jobs;
};

Result<TableTexts> read_tables(const WsmeterTables& tables) {
  auto performance = read_table_file(tables.performance);
  if (!performance) {
    return propagate(performance);
  }
  auto jobs = read_table_file(tables.jobs);
  if (!jobs) {
    return propagate(jobs);
  }
  return TableTexts{.performance = std::move(*performance), .jobs = std::move(*jobs)};
}

}  // namespace

Status run_wsmeter_plan(const WsmeterPlanOptions& options) {
  if (auto checked = check_goal(options.request.margin, options.request.detect); !checked) {
    return checked;
  }
  const auto text = read_file(options.table == "-" ? "/dev/stdin" : options.table, kMaxTableBytes);
  if (!text) {
    return propagate(text, "reading the table of jobs");
  }
  const auto table = query::plan_table(*text, options.request);
  if (!table) {
    return propagate(table, "{}", options.table);
  }
  fmt::print("{}", query::to_form(*table, options.form, style_of_output()));
  return {};
}

Status run_wsmeter_baseline(const WsmeterBaselineOptions& options) {
  const auto texts = read_tables(options.tables);
  return texts ? print(query::baseline_table(texts->performance, texts->jobs, options.request), options.form)
               : propagate(texts);
}

Status run_wsmeter_evaluate(const WsmeterEvaluateOptions& options) {
  const auto texts = read_tables(options.tables);
  if (!texts) {
    return propagate(texts);
  }
  query::EvaluationTables tables{.performance = texts->performance, .jobs = texts->jobs, .test = {}};
  const auto test = options.test.empty() ? Result<std::string>() : read_table_file(options.test);
  if (!test) {
    return propagate(test);
  }
  if (!options.test.empty()) {
    tables.test = *test;
  }
  return print(query::evaluation_table(tables, options.request), options.form);
}

Status run_wsmeter_validate(const WsmeterValidateOptions& options) {
  if (auto checked = check_goal(options.margin, options.detect); !checked) {
    return checked;
  }
  query::ValidationRequest request = options.request;
  request.goal.effect = options.detect > 0 ? options.detect : options.margin;
  request.goal.power = options.detect > 0 ? options.power : 0.5;
  const auto texts = read_tables(options.tables);
  return texts ? print(query::validation_table(texts->performance, texts->jobs, request), options.form)
               : propagate(texts);
}

}  // namespace plimsoll::cli
