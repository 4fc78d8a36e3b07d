#include "query/sql/sql.h"

#include <fmt/core.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/time.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {
namespace {

constexpr uint64_t kMaxStatementBytes = uint64_t{1} << 20;

Result<query::SqlAnswer> sql_of_directory(const std::string& statement, const std::string& data_dir) {
  const auto snapshot = query::Snapshot::load(data_dir);
  return snapshot ? query::sql({.statement = statement, .now_ns = wall_now_ns()}, **snapshot,
                               [&] { return query::LiveFleet::load(data_dir); })
                  : propagate(snapshot);
}

Result<query::SqlAnswer> sql_of_server(const std::string& statement, const AnswerSource& source) {
  const auto body = ask_server(source, "/api/v1/sql", {{"q", statement}});
  return body ? query::sql_answer_from_json(*body) : propagate(body);
}

Result<std::string> statement_of(const SqlOptions& options) {
  return options.statement.empty() ? read_file("/dev/stdin", kMaxStatementBytes) : options.statement;
}

}  // namespace

Status run_sql(const SqlOptions& options) {
  const auto statement = statement_of(options);
  if (!statement) {
    return propagate(statement, "reading the statement");
  }
  const auto answer = options.source.server.empty() ? sql_of_directory(*statement, options.source.data_dir)
                                                    : sql_of_server(*statement, options.source);
  if (!answer) {
    return propagate(answer);
  }
  for (const std::string& note : answer->notes) {
    fmt::print(stderr, "note: {}\n", printable(note));
  }
  fmt::print("{}", query::to_form(*answer, options.form, style_of_output()));
  return {};
}

}  // namespace plimsoll::cli
