#include "cli/trace_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "cli/json_text.h"
#include "cli/trace_files.h"
#include "cli/views/commands.h"
#include "query/table/values.h"
#include "query/traces/trace_table.h"

namespace plimsoll::cli {
namespace {

Result<const traces::Trace*> trace_named(std::string id, const traces::Assembly& assembly) {
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const traces::Trace* found = nullptr;
  for (const traces::Trace& trace : assembly.traces) {
    const std::string text = to_text(trace.id);
    if (!text.starts_with(id) && !text.ends_with(id)) {
      continue;
    }
    if (text == id) {
      return &trace;
    }
    if (found != nullptr) {
      return with_hint(fail(ErrorCode::kInvalid, "several traces have {} in their ID", id),
                       "give all 32 digits");
    }
    found = &trace;
  }
  if (found == nullptr) {
    return with_hint(fail(ErrorCode::kNotFound, "no such trace: {}", id),
                     fmt::format("{} traces were read, such as {}", assembly.traces.size(),
                                 to_text(assembly.traces.front().id)));
  }
  return found;
}

// Places of the columns of the view `trace`, whose answer may be of another version.
struct TraceColumns {
  size_t trace = 0, began = 0, is_partial = 0, depth = 0, span = 0, parent = 0, service = 0, method = 0,
         replica = 0, machine = 0, start = 0, duration = 0, self = 0, is_gap = 0, is_error = 0, repairs = 0;
};

Result<TraceColumns> columns_of(const query::Table& table) {
  TraceColumns columns;
  for (const auto& [name, place] : {std::pair("trace", &columns.trace),
                                    {"began", &columns.began},
                                    {"is_partial", &columns.is_partial},
                                    {"depth", &columns.depth},
                                    {"span", &columns.span},
                                    {"parent", &columns.parent},
                                    {"service", &columns.service},
                                    {"method", &columns.method},
                                    {"replica", &columns.replica},
                                    {"machine", &columns.machine},
                                    {"start", &columns.start},
                                    {"duration", &columns.duration},
                                    {"self", &columns.self},
                                    {"is_gap", &columns.is_gap},
                                    {"is_error", &columns.is_error},
                                    {"repairs", &columns.repairs}}) {
    const auto found = query::find_column(table, name);
    if (!found) {
      return propagate(found, "the view trace");
    }
    *place = *found;
  }
  return table.rows.empty() ? fail(ErrorCode::kCorrupt, "the answer of the view trace has no span")
                            : Result<TraceColumns>(columns);
}

using TraceRow = std::vector<query::Value>;

bool is_yes(const TraceRow& row, size_t column) {
  return query::text_in(row[column]) == "yes";
}

// Times of a trace lie within 100 days, which a double has exactly.
int64_t whole(const TraceRow& row, size_t column) {
  return static_cast<int64_t>(query::number_in(row[column]).value_or(0));
}

double ms_of(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

std::string trace_tree(const query::Table& table, const TraceColumns& columns) {
  const TraceRow& first = table.rows.front();
  std::string text = fmt::format("trace {}, {} spans, {}{}\n{:>10}  {:>10}  {:>10}  call\n",
                                 printable(query::text_in(first[columns.trace])), table.rows.size(),
                                 printable(query::text_in(first[columns.began])),
                                 is_yes(first, columns.is_partial) ? ", spans are missing" : "", "start ms",
                                 "total ms", "self ms");
  for (const TraceRow& row : table.rows) {
    const std::string replica = printable(query::text_in(row[columns.replica]));
    const std::string repairs = printable(query::text_in(row[columns.repairs]));
    // Deeper trees stay readable.
    constexpr int64_t kMaxIndent = 40;
    const auto indent =
        static_cast<size_t>(std::clamp(2 * whole(row, columns.depth), int64_t{0}, kMaxIndent));
    fmt::format_to(std::back_inserter(text), "{:10.3f}  {:10.3f}  {:10.3f}  {}{} {}{}{}{}{}\n",
                   ms_of(whole(row, columns.start)), ms_of(whole(row, columns.duration)),
                   ms_of(whole(row, columns.self)), std::string(indent, ' '),
                   printable(query::text_in(row[columns.service])),
                   printable(query::text_in(row[columns.method])),
                   replica.empty() ? "" : fmt::format(" on {}", replica),
                   is_yes(row, columns.is_gap) ? " (self: network and queues)" : "",
                   is_yes(row, columns.is_error) ? " [error]" : "",
                   repairs.empty() ? "" : fmt::format(" [{}]", repairs));
  }
  return text;
}

std::string trace_json(const query::Table& table, const TraceColumns& columns) {
  const TraceRow& first = table.rows.front();
  std::string text = "{\"trace\": ";
  append_json_string(query::text_in(first[columns.trace]), text);
  fmt::format_to(std::back_inserter(text), ", \"is_partial\": {}, \"spans\": [",
                 is_yes(first, columns.is_partial));
  bool is_first = true;
  for (const TraceRow& row : table.rows) {
    const std::string parent = query::text_in(row[columns.parent]);
    text += std::exchange(is_first, false) ? "{\"span\": " : ", {\"span\": ";
    append_json_string(query::text_in(row[columns.span]), text);
    text += ", \"parent\": ";
    if (parent.empty()) {
      text += "null";
    } else {
      append_json_string(parent, text);
    }
    for (const auto& [name, column] : {std::pair("service", columns.service),
                                       {"method", columns.method},
                                       {"replica", columns.replica},
                                       {"machine", columns.machine}}) {
      fmt::format_to(std::back_inserter(text), ", \"{}\": ", name);
      append_json_string(query::text_in(row[column]), text);
    }
    fmt::format_to(
        std::back_inserter(text),
        ", \"start_ns\": {}, \"duration_ns\": {}, \"self_ns\": {}, \"is_gap\": {}, \"is_error\": {}}}",
        whole(row, columns.start), whole(row, columns.duration), whole(row, columns.self),
        is_yes(row, columns.is_gap), is_yes(row, columns.is_error));
  }
  text += "]}\n";
  return text;
}

Result<query::Table> trace_in_files(const TraceShowOptions& options) {
  const auto files = read_trace_files(options.traces);
  if (!files) {
    return propagate(files);
  }
  const auto trace = trace_named(options.id, files->assembly);
  if (!trace) {
    return propagate(trace);
  }
  query::Table table = query::trace_table(**trace, *files);
  table.notes = files->notes;
  return table;
}

Result<query::Table> stored_trace(const TraceShowOptions& options) {
  return ask_table(
      "trace",
      {.source = options.source, .form = query::TableForm::kText, .parameters = {{"id", options.id}}});
}

}  // namespace

Status run_trace_show(const TraceShowOptions& options) {
  if (const Status given = expect_traces_or_source(options.traces, options.source); !given) {
    return given;
  }
  const auto table = options.traces.empty() ? stored_trace(options) : trace_in_files(options);
  const auto columns = table ? columns_of(*table) : propagate(table);
  if (!columns) {
    return propagate(columns);
  }
  // What is missing for damage, beside what is there.
  for (const std::string& note : table->notes) {
    fmt::print(stderr, "note: {}\n", printable(note));
  }
  return write_output("-", options.is_json ? trace_json(*table, *columns) : trace_tree(*table, *columns));
}

}  // namespace plimsoll::cli
