#include "cli/diagnose.h"

#include <string_view>
#include <utility>

#include "base/time.h"
#include "cli/trace_files.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"
#include "query/registry/view.h"
#include "query/traces/diagnosis_table.h"

namespace plimsoll::cli {
namespace {

std::string_view method_of(DiagnoseOptions::By by) {
  switch (by) {
    case DiagnoseOptions::By::kCloudDiag:
      return "clouddiag";
    case DiagnoseOptions::By::kPaper:
      return "clouddiag-paper";
    case DiagnoseOptions::By::kPca:
      return "pca";
    case DiagnoseOptions::By::kAll:
      return "all";
    case DiagnoseOptions::By::kCategory:
      return "category";
    case DiagnoseOptions::By::kTree:
      return "tree";
    case DiagnoseOptions::By::kPlimsoll:
      break;
  }
  return "plimsoll";
}

query::Parameters parameters_of(const DiagnoseOptions& options) {
  query::Parameters parameters;
  for (const auto& [name, text] : {std::pair("since", &options.since),
                                   {"until", &options.until},
                                   {"reference_since", &options.reference_since},
                                   {"reference_until", &options.reference_until},
                                   {"service", &options.service},
                                   {"every", &options.every}}) {
    if (!text->empty()) {
      parameters.emplace_back(name, *text);
    }
  }
  parameters.emplace_back("by", method_of(options.by));
  return parameters;
}

// With the names of flags in what is wrong with them.
Status expect_times(const DiagnoseOptions& options) {
  const auto window = parse_time_range(options.since, options.until, "");
  const auto reference = parse_time_range(options.reference_since, options.reference_until, "reference-");
  return !window ? propagate(window) : !reference ? propagate(reference) : Status();
}

Result<query::Table> diagnose_files(const DiagnoseOptions& options) {
  const auto files = read_trace_files(options.traces);
  if (!files) {
    return propagate(files);
  }
  const auto request = query::parse_diagnosis(parameters_of(options), wall_now_ns());
  auto table = request ? query::diagnosis_table(*request, *files) : propagate(request);
  if (table) {
    table->notes.insert(table->notes.end(), files->notes.begin(), files->notes.end());
    query::prioritize(*query::find_view("diagnosis"), *table);
  }
  return table;
}

}  // namespace

Status run_diagnose(const DiagnoseOptions& options) {
  Status given = expect_traces_or_source(options.traces, options.source);
  given = given ? expect_times(options) : given;
  if (!given) {
    return given;
  }
  auto table =
      options.traces.empty()
          ? ask_table("diagnosis",
                      {.source = options.source, .form = options.form, .parameters = parameters_of(options)})
          : diagnose_files(options);
  if (table && options.form == query::TableForm::kText) {
    query::keep_claimed(*table);
  }
  return print(std::move(table), options.form);
}

}  // namespace plimsoll::cli
