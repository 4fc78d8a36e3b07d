// What the subcommands do that ask a view (query/registry), apart from how their flags are spelled.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "query/registry/view.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace plimsoll::cli {

// Asks `view` of a server, or of a data directory; a view that is an order, of a server alone.
Result<query::Answer> ask_view(const query::View& view, const AnswerSource& source,
                               const query::Parameters& parameters);

// For commands that take tables of views as their input, or show them.
struct TableOptions {
  AnswerSource source;
  query::TableForm form = query::TableForm::kText;
  query::Parameters parameters;
};
// `view`: the name of one whose answer is a table.
Result<query::Table> ask_table(std::string_view view, const TableOptions& options);

// How an answer is printed.
enum class AnswerForm { kText, kJson, kCsv, kFolded, kSvg, kHtml };

// An order given by a flag of a view's command.
struct GivenOrder {
  const query::OrderSpec* spec;
  query::Parameters parameters;
};

struct ViewOptions {
  const query::View* view = nullptr;  // of the registry
  AnswerSource source;
  AnswerForm form = AnswerForm::kText;
  bool is_long = false;          // the table itself as text, of a view that has a summary
  double watch_interval_s = 0;   // 0: the answer is printed once
  query::Parameters parameters;  // in the order of the flags
  std::optional<GivenOrder> order;
};
// Prints the answer on standard output, with an interval until a signal ends the process (cli/views/watch.h). A statement in SQL that is not given is read from standard input; notes on its answer go to
// standard error.
Status run_view(const ViewOptions& options);

struct ExportOptions {
  AnswerSource source;
  std::string view;    // export/pprof or export/gperftools; empty: none was given
  std::string output;  // file, or "-" for standard output
  query::Parameters parameters;
};
Status run_export(const ExportOptions& options);

}  // namespace plimsoll::cli
