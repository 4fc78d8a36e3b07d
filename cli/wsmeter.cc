#include "cli/wsmeter.h"

#include <vector>

#include "cli/views/answer_source.h"
#include "cli/views/terminal.h"
#include "query/plot/line_plot.h"
#include "query/wsmeter/baseline/coverage_plot.h"
#include "query/wsmeter/planning/curve_plot.h"

namespace plimsoll::cli {

namespace {

// The plot goes to a file beside the table, or is the whole output.
Status print_with_plot(const query::Table& table, const query::LinePlot& plot, const std::string& svg,
                       query::TableForm form, const std::vector<std::string>& notes = {}) {
  const Status written = write_output(svg, query::to_svg(plot));
  return written && svg != "-" ? cli::print(table, form, notes) : written;
}

}  // namespace

Status run_wsmeter_plan(const WsmeterPlanOptions& options) {
  const query::PlanRequest& request = options.request;
  if (!options.is_curve && request.margin == 0 && request.detect == 0 && request.budget == 0) {
    return fail(ErrorCode::kInvalid,
                "one of --margin SHARE, --detect EFFECT --power P, --budget COST or --curve is required");
  }
  const auto text = read_table_file(options.table);
  if (!text) {
    return propagate(text);
  }
  const auto table =
      options.is_curve ? query::curve_table(*text, request) : query::plan_table(*text, request);
  if (!table) {
    return propagate(table, "{}", options.table);
  }
  return options.svg.empty() ? print(table, options.form)
                             : print_with_plot(*table, query::curve_plot(*table), options.svg, options.form);
}

Status run_wsmeter_baseline(const WsmeterBaselineOptions& options) {
  const auto texts = read_fleet_tables(options.tables);
  const auto table =
      texts ? query::baseline_table(texts->performance, texts->jobs, options.request) : propagate(texts);
  return !table || options.svg.empty()
             ? print(table, options.form, texts ? texts->notes : std::vector<std::string>())
             : print_with_plot(*table, query::coverage_plot(*table), options.svg, options.form, texts->notes);
}

Status run_wsmeter_evaluate(const WsmeterEvaluateOptions& options) {
  const auto texts = read_fleet_tables(options.tables);
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
  return print(query::evaluation_table(tables, options.request), options.form, texts->notes);
}

Status run_wsmeter_validate(const WsmeterValidateOptions& options) {
  if (options.margin == 0 && options.detect == 0) {
    return fail(ErrorCode::kInvalid, "--margin SHARE, or --detect EFFECT --power P, is required");
  }
  query::ValidationRequest request = options.request;
  request.goal.effect = options.detect > 0 ? options.detect : options.margin;
  request.goal.power = options.detect > 0 ? options.power : 0.5;
  const auto texts = read_fleet_tables(options.tables);
  return texts ? print(query::validation_table(texts->performance, texts->jobs, request), options.form,
                       texts->notes)
               : propagate(texts);
}

Status run_wsmeter_cluster(const WsmeterClusterOptions& options) {
  const auto texts = read_fleet_tables(options.tables);
  return texts ? print(query::cluster_table(texts->performance, texts->jobs, options.request), options.form,
                       texts->notes)
               : propagate(texts);
}

}  // namespace plimsoll::cli
