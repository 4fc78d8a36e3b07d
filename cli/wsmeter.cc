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
  if (!options.is_curve) {
    const auto table = query::plan_table(*text, request);
    return table ? print(table, options.form) : propagate(table, "{}", options.table);
  }
  const auto curve = query::margin_curve(*text, request);
  if (!curve) {
    return propagate(curve, "{}", options.table);
  }
  const query::Table table = query::table_of(*curve);
  return options.svg.empty() ? print(table, options.form)
                             : print_with_plot(table, query::curve_plot(*curve), options.svg, options.form);
}

Status run_wsmeter_baseline(const WsmeterBaselineOptions& options) {
  const auto input = read_fleet_tables(options.tables);
  const auto baseline = input ? query::baseline_of(input->fleet, options.request) : propagate(input);
  if (!baseline) {
    return propagate(baseline);
  }
  const query::Table table = query::table_of(*baseline);
  return options.svg.empty() ? print(table, options.form, input->notes)
                             : print_with_plot(table, query::coverage_plot(*baseline), options.svg,
                                               options.form, input->notes);
}

Status run_wsmeter_evaluate(const WsmeterEvaluateOptions& options) {
  const auto input = read_fleet_tables(options.tables);
  if (!input) {
    return propagate(input);
  }
  if (options.test.empty()) {
    return print(query::evaluation_table(input->fleet, nullptr, options.request), options.form, input->notes);
  }
  const auto text = read_table_file(options.test);
  if (!text) {
    return propagate(text);
  }
  const auto test = query::read_performance(*text);
  return test ? print(query::evaluation_table(input->fleet, &*test, options.request), options.form,
                      input->notes)
              : propagate(test, "the table of test observations");
}

Status run_wsmeter_validate(const WsmeterValidateOptions& options) {
  if (options.margin == 0 && options.detect == 0) {
    return fail(ErrorCode::kInvalid, "--margin SHARE, or --detect EFFECT --power P, is required");
  }
  query::ValidationRequest request = options.request;
  request.goal.effect = options.detect > 0 ? options.detect : options.margin;
  request.goal.power = options.detect > 0 ? options.power : 0.5;
  const auto input = read_fleet_tables(options.tables);
  return input ? print(query::validation_table(input->fleet, request), options.form, input->notes)
               : propagate(input);
}

Status run_wsmeter_cluster(const WsmeterClusterOptions& options) {
  const auto input = read_fleet_tables(options.tables);
  return input ? print(query::cluster_table(input->fleet, options.request), options.form, input->notes)
               : propagate(input);
}

}  // namespace plimsoll::cli
