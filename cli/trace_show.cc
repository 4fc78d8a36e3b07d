#include "cli/trace_show.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/shell_argument.h"
#include "base/time.h"
#include "cli/json_text.h"
#include "cli/trace_export.h"
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
  std::optional<size_t> attributes = std::nullopt;  // older servers have neither
  std::optional<size_t> profiles = std::nullopt;
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
  if (const auto found = query::find_column(table, "attributes")) {
    columns.attributes = *found;
  }
  if (const auto found = query::find_column(table, "profiles")) {
    columns.profiles = *found;
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

// "host.type=c7", ...
std::vector<std::string> attributes_in(const TraceRow& row, const TraceColumns& columns) {
  std::vector<std::string> attributes;
  const std::string text = columns.attributes ? query::text_in(row[*columns.attributes]) : std::string();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    attributes.push_back(printable(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return attributes;
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
  std::vector<std::string> last;
  for (const TraceRow& row : table.rows) {
    // Those of a resource would stand in each line.
    std::vector<std::string> attributes = attributes_in(row, columns);
    const std::string shown = attributes == last || attributes.empty()
                                  ? std::string()
                                  : fmt::format(" {{{}}}", fmt::join(attributes, ", "));
    last = std::move(attributes);
    const std::string replica = printable(query::text_in(row[columns.replica]));
    const std::string repairs = printable(query::text_in(row[columns.repairs]));
    // Deeper trees stay readable.
    constexpr int64_t kMaxIndent = 40;
    const auto indent =
        static_cast<size_t>(std::clamp(2 * whole(row, columns.depth), int64_t{0}, kMaxIndent));
    fmt::format_to(std::back_inserter(text), "{:10.3f}  {:10.3f}  {:10.3f}  {}{} {}{}{}{}{}{}\n",
                   ms_of(whole(row, columns.start)), ms_of(whole(row, columns.duration)),
                   ms_of(whole(row, columns.self)), std::string(indent, ' '),
                   printable(query::text_in(row[columns.service])),
                   printable(query::text_in(row[columns.method])),
                   replica.empty() ? "" : fmt::format(" on {}", replica),
                   is_yes(row, columns.is_gap) ? " (self: network and queues)" : "",
                   is_yes(row, columns.is_error) ? " [error]" : "",
                   repairs.empty() ? "" : fmt::format(" [{}]", repairs), shown);
  }
  return text;
}

// That selects the profiles of what ran the call; empty: none that can be pasted into a shell. "instance=NAME", "label:KEY=NAME",
// "hostname=NAME".
std::string predicate_in(const TraceRow& row, const TraceColumns& columns) {
  if (!columns.profiles) {
    return query::ProfileLinks().predicate_for("", query::text_in(row[columns.machine]));
  }
  const std::string predicate = query::text_in(row[*columns.profiles]);
  const size_t equals = predicate.find('=');
  if (equals == std::string::npos) {
    return "";
  }
  const std::string_view dimension = std::string_view(predicate).substr(0, equals);
  constexpr std::string_view kLabel = "label:";
  const std::string_view name = dimension.starts_with(kLabel) ? dimension.substr(kLabel.size()) : dimension;
  const bool is_plain =
      query::is_plain_name(name) && query::is_plain_name(std::string_view(predicate).substr(equals + 1));
  return is_plain ? predicate : "";
}

// Of those whose profiles can be named, the call that takes longest itself.
const TraceRow* longest_itself(const query::Table& table, const TraceColumns& columns) {
  const TraceRow* longest = nullptr;
  for (const TraceRow& row : table.rows) {
    // Network and queues show in no profile.
    if (is_yes(row, columns.is_gap) || predicate_in(row, columns).empty()) {
      continue;
    }
    if (longest == nullptr || whole(row, columns.self) > whole(*longest, columns.self)) {
      longest = &row;
    }
  }
  return longest;
}

// What the instance or machine of that call did meanwhile, and what samples say that carry the trace as a label.
std::string profile_commands(const query::Table& table, const TraceColumns& columns,
                             const AnswerSource& source) {
  const TraceRow* const row = longest_itself(table, columns);
  const auto began_ns =
      row == nullptr ? std::nullopt : parse_time_ns(query::text_in((*row)[columns.began]), 0);
  if (!began_ns) {
    return "";
  }
  // Windows of profiles last some ten seconds, and begin when they may.
  constexpr int64_t kAroundNs = 30 * kNsPerSecond;
  const int64_t start_ns = *began_ns + whole(*row, columns.start);
  const auto whole_second = [](int64_t ns) { return format_time(ns - ns % kNsPerSecond); };
  const std::string from =
      source.server.empty() && !source.data_dir.empty()
          ? fmt::format("--data {}", shell_argument(source.data_dir))
          : fmt::format("--server {}", source.server.empty() ? "ADDR" : shell_argument(source.server));
  return fmt::format(
      "\nprofiles: plimsoll top {0} --where {1} --since {2} --until {3}\n"
      "          plimsoll top {0} --where label:trace_id={4}   (samples that carry the trace ID)\n",
      from, predicate_in(*row, columns), whole_second(start_ns - kAroundNs),
      whole_second(start_ns + whole(*row, columns.duration) + kAroundNs),
      printable(query::text_in((*row)[columns.trace])));
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
        ", \"start_ns\": {}, \"duration_ns\": {}, \"self_ns\": {}, \"is_gap\": {}, \"is_error\": {}",
        whole(row, columns.start), whole(row, columns.duration), whole(row, columns.self),
        is_yes(row, columns.is_gap), is_yes(row, columns.is_error));
    text += ", \"profiles\": ";
    const std::string predicate = predicate_in(row, columns);
    if (predicate.empty()) {
      text += "null";
    } else {
      append_json_string(predicate, text);
    }
    text += ", \"attributes\": {";
    const char* separator = "";
    for (const std::string& attribute : attributes_in(row, columns)) {
      const auto [key, value] = query::split_attribute(attribute);
      text += std::exchange(separator, ", ");
      append_json_string(key, text);
      text += ": ";
      append_json_string(value, text);
    }
    text += "}}";
  }
  text += "]}\n";
  return text;
}

Result<query::Table> trace_in_files(const TraceShowOptions& options) {
  const auto files = read_trace_files(options.traces, {.keeps_attributes = true});
  if (!files) {
    return propagate(files);
  }
  const auto trace = trace_named(options.id, files->assembly);
  if (!trace) {
    return propagate(trace);
  }
  return query::trace_table(**trace, *files);
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
  if (options.exported) {
    const auto document = exported_trace(*table, *options.exported);
    return document ? write_output("-", *document) : propagate(document);
  }
  return write_output("-", options.is_json ? trace_json(*table, *columns)
                                           : trace_tree(*table, *columns) +
                                                 profile_commands(*table, *columns, options.source));
}

}  // namespace plimsoll::cli
