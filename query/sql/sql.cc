#include "query/sql/sql.h"

#include <fmt/ranges.h>

#include <array>

#include "base/suggest.h"
#include "base/time.h"
#include "query/sql/samples_table.h"
#include "query/views/selection.h"

namespace plimsoll::query {
namespace {

constexpr std::string_view kTable = "samples";

// What stands behind `prefix`, up to a space; of "s.column", the column.
std::string_view name_behind(std::string_view prefix, std::string_view message) {
  if (!message.starts_with(prefix)) {
    return {};
  }
  message.remove_prefix(prefix.size());
  message = message.substr(0, message.find(' '));
  return message.substr(message.rfind('.') + 1);
}

std::string hint_for(std::string_view message, const std::vector<sqlite::Column>& columns) {
  if (!name_behind("no such table: ", message).empty()) {
    return fmt::format("the table is {}", kTable);
  }
  const std::string_view unknown = name_behind("no such column: ", message);
  std::vector<std::string_view> names;
  for (const sqlite::Column& column : columns) {
    names.push_back(column.name);
  }
  const auto nearest = nearest_word(unknown, names);
  return unknown.empty() ? std::string()
         : nearest       ? fmt::format("did you mean {}?", *nearest)
                         : fmt::format("the columns are {}", fmt::join(names, ", "));
}

std::string coverage_note(const Coverage& coverage) {
  return fmt::format("profiles of {} of {} machine{}, {} to {}; {} samples lost", coverage.machines_drawn,
                     coverage.machines_live, coverage.machines_live == 1 ? "" : "s",
                     format_time(coverage.from_ns / kNsPerSecond * kNsPerSecond),
                     format_time(coverage.to_ns / kNsPerSecond * kNsPerSecond), coverage.lost);
}

}  // namespace

Result<SqlRequest> parse_sql(const Parameters& parameters, int64_t /*now_ns*/) {
  SqlRequest request;
  for (const auto& [name, text] : parameters) {
    if (name != "q") {
      return unknown_parameter(name, std::array<std::string_view, 1>{"q"});
    }
    request.statement = text;
  }
  return request;
}

Result<SqlAnswer> sql(const SqlRequest& request, const Snapshot& snapshot) {
  ResolvedSelection everything = resolve_all(snapshot);
  SamplesTable samples(snapshot, everything.request.measures);
  auto answer = sqlite::ask(request.statement, {{std::string(kTable), &samples}}, request.limits);
  if (!answer) {
    auto failure = propagate(answer);
    const std::string hint = hint_for(answer.error().message, samples.columns());
    return hint.empty() ? failure : with_hint(std::move(failure), hint);
  }
  everything.notes.push_back(coverage_note(everything.coverage));
  return SqlAnswer{std::move(everything.notes), std::move(answer->columns), std::move(answer->rows)};
}

std::vector<std::string> sql_columns() {
  std::vector<std::string> names;
  const Snapshot nothing;
  const std::vector<store::Factors> no_factors;
  const SamplesTable samples(nothing, no_factors);
  for (const sqlite::Column& column : samples.columns()) {
    names.push_back(column.name);
  }
  return names;
}

}  // namespace plimsoll::query
