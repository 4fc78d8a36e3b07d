#include "query/sql/sql.h"

#include <fmt/ranges.h>

#include <array>

#include "base/suggest.h"
#include "base/time.h"
#include "query/selection/selection.h"
#include "query/sql/tables.h"

namespace plimsoll::query {
namespace {

// What stands behind `prefix`, up to a space; of "s.column", the column.
std::string_view name_behind(std::string_view prefix, std::string_view message) {
  if (!message.starts_with(prefix)) {
    return {};
  }
  message.remove_prefix(prefix.size());
  message = message.substr(0, message.find(' '));
  return message.substr(message.rfind('.') + 1);
}

constexpr std::string_view kHowToList = "SELECT * FROM columns lists all columns, with their meaning";

std::string hint_for_table(std::string_view unknown, const SqlTables& tables) {
  std::vector<std::string_view> names;
  for (const NamedTable& table : tables.list()) {
    names.push_back(table.name);
  }
  const auto nearest = nearest_word(unknown, names);
  return nearest ? fmt::format("did you mean {}?", *nearest)
                 : fmt::format("the tables are {}", fmt::join(names, ", "));
}

std::string hint_for_column(std::string_view unknown, const SqlTables& tables) {
  std::vector<std::string_view> names;
  for (const NamedTable& table : tables.list()) {
    for (const sqlite::Column& column : table.table->columns()) {
      names.push_back(column.name);
    }
  }
  const auto nearest = nearest_word(unknown, names);
  return nearest ? fmt::format("did you mean {}?", *nearest) : std::string(kHowToList);
}

std::string hint_for(std::string_view message, const SqlTables& tables) {
  const std::string_view unknown_table = name_behind("no such table: ", message);
  const std::string_view unknown_column = name_behind("no such column: ", message);
  return !unknown_table.empty()    ? hint_for_table(unknown_table, tables)
         : !unknown_column.empty() ? hint_for_column(unknown_column, tables)
                                   : std::string();
}

std::string coverage_note(const Coverage& coverage) {
  return fmt::format("profiles of {} of {} machine{}, {} to {}; {} samples lost", coverage.machines_drawn,
                     coverage.machines_live, coverage.machines_live == 1 ? "" : "s",
                     format_time(coverage.from_ns / kNsPerSecond * kNsPerSecond),
                     format_time(coverage.to_ns / kNsPerSecond * kNsPerSecond), coverage.lost);
}

}  // namespace

Result<SqlRequest> parse_sql(const Parameters& parameters, int64_t now_ns) {
  SqlRequest request{.now_ns = now_ns};
  const Parameter statement = text_parameter("q", request.statement);
  if (auto read = read_parameters(parameters, std::span(&statement, 1)); !read) {
    return propagate(read);
  }
  return request;
}

Result<SqlAnswer> sql(const SqlRequest& request, const Snapshot& snapshot, const FleetSource& fleet) {
  ResolvedSelection everything = resolve_all(snapshot);
  const SqlTables tables(snapshot, everything.request.measures, request.now_ns, fleet);
  auto answer = sqlite::ask(request.statement, tables.by_name(), request.limits);
  if (!answer) {
    auto failure = propagate(answer);
    const std::string hint = hint_for(answer.error().message, tables);
    return hint.empty() ? failure : with_hint(std::move(failure), hint);
  }
  everything.notes.push_back(coverage_note(everything.coverage));
  return SqlAnswer{std::move(everything.notes), std::move(answer->columns), std::move(answer->rows)};
}

std::vector<SqlTable> sql_tables() {
  const Snapshot nothing;
  const std::vector<store::Factors> no_factors;
  const SqlTables tables(nothing, no_factors, 0, {});
  std::vector<SqlTable> described;
  for (const NamedTable& table : tables.list()) {
    auto& columns = described.emplace_back(SqlTable{table.name, table.row_is, {}}).columns;
    for (const sqlite::Column& column : table.table->columns()) {
      columns.push_back(column.name);
    }
  }
  return described;
}

}  // namespace plimsoll::query
