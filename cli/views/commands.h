// What the subcommands that ask do, apart from how their flags are spelled.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace plimsoll::cli {

// Of views whose answer is a table.
struct TableOptions {
  AnswerSource source;
  query::TableForm form = query::TableForm::kText;
  // Parameters of the view (query::parse_top, ...), in the order of the flags.
  query::Parameters parameters;
};
Status run_top(const TableOptions& options);
Status run_callers(const TableOptions& options);
Status run_callees(const TableOptions& options);
Status run_diff(const TableOptions& options);
Status run_compare(const TableOptions& options);
Status run_series(const TableOptions& options);
Status run_stability(const TableOptions& options);
Status run_shared(const TableOptions& options);
Status run_coverage(const TableOptions& options);
// Without parameters of its own: revoke or readmit (a machine's ID); then it shows who asked for what.
Status run_machines(const TableOptions& options);
// An order that somebody is measured now; shows the draw that was made for it.
Status run_measure(const TableOptions& options);
// Who asked for what.
Status run_audit(const TableOptions& options);
Status run_jobs(const TableOptions& options);
// Of instances: `plimsoll wsmeter observations`.
Status run_observations(const TableOptions& options);
Status run_draws(const TableOptions& options);
// Parameters: stop (a reason), or resume; without them it shows what is stopped.
Status run_collection(const TableOptions& options);

// What run_jobs() and run_observations() print, for commands that reckon with it.
Result<query::Table> ask_jobs(const TableOptions& options);
Result<query::Table> ask_observations(const TableOptions& options);
// What jobs cost on platforms, and how much of them runs where, as it was measured.
Result<query::Table> ask_measured_pairs(const TableOptions& options);

enum class FlameForm { kText, kFolded, kJson };

struct FlameOptions {
  AnswerSource source;
  FlameForm form = FlameForm::kText;
  // Parameters of query::parse_flame. As text, nodes under 0.5 % are cut unless they say otherwise.
  query::Parameters parameters;
};
Status run_flame(const FlameOptions& options);

enum class ExportFormat { kPprof, kGperftools };

struct ExportOptions {
  AnswerSource source;
  ExportFormat format = ExportFormat::kPprof;
  std::string output;  // file, or "-" for standard output
  // Parameters of query::parse_export.
  query::Parameters parameters;
};
Status run_export(const ExportOptions& options);

struct SqlOptions {
  AnswerSource source;
  query::TableForm form = query::TableForm::kText;
  std::string statement;  // empty: on standard input
};
// Notes go to standard error.
Status run_sql(const SqlOptions& options);

}  // namespace plimsoll::cli
