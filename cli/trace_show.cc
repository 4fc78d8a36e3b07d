#include "cli/trace_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/time.h"
#include "cli/json_text.h"
#include "cli/trace_files.h"
#include "cli/views/answer_source.h"

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

std::string flags_text(const traces::Node& node) {
  std::string text;
  for (const auto& [flag, word] :
       {std::pair(traces::kOrphan, "parent missing"), std::pair(traces::kShifted, "clock shifted"),
        std::pair(traces::kOutsideParent, "outside parent"),
        std::pair(traces::kEndFixed, "end before start")}) {
    if (node.has(flag)) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
    }
  }
  return text;
}

double ms_of(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

std::string trace_tree(const TraceFiles& files, const traces::Trace& trace) {
  const traces::Names& names = files.spans->names();
  const auto nodes = files.assembly.nodes_of(trace);
  std::string text =
      fmt::format("trace {}, {} spans, {}{}\n{:>10}  {:>10}  {:>10}  call\n", to_text(trace.id), nodes.size(),
                  format_time(trace.start_ns), trace.is_partial ? ", spans are missing" : "", "start ms",
                  "total ms", "self ms");
  std::vector<size_t> depths(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const traces::Node& node = nodes[i];
    depths[i] = node.parent == traces::kNoNode ? 0 : depths[node.parent] + 1;
    const traces::Span& span = files.spans->spans()[node.span];
    const std::string_view replica = names.replicas.name(span.replica);
    const std::string flags = flags_text(node);
    // Deeper trees stay readable.
    constexpr size_t kMaxIndent = 40;
    text += fmt::format(
        "{:10.3f}  {:10.3f}  {:10.3f}  {}{} {}{}{}{}{}\n", ms_of(node.start_ns - trace.start_ns),
        ms_of(node.duration_ns()), ms_of(node.self_ns), std::string(std::min(2 * depths[i], kMaxIndent), ' '),
        names.services.name(span.service), names.operations.name(span.operation),
        replica.empty() ? "" : fmt::format(" on {}", replica),
        node.has(traces::kEdge) ? " (self: network and queues)" : "",
        span.status == traces::SpanStatus::kError ? " [error]" : "", flags.empty() ? "" : " [" + flags + "]");
  }
  return text;
}

std::string trace_json(const TraceFiles& files, const traces::Trace& trace) {
  const traces::Names& names = files.spans->names();
  std::string text = fmt::format("{{\"trace\": \"{}\", \"is_partial\": {}, \"spans\": [", to_text(trace.id),
                                 trace.is_partial);
  bool is_first = true;
  const auto nodes = files.assembly.nodes_of(trace);
  for (const traces::Node& node : nodes) {
    const traces::Span& span = files.spans->spans()[node.span];
    text += fmt::format("{}{{\"span\": \"{}\", \"parent\": ", std::exchange(is_first, false) ? "" : ", ",
                        traces::span_id_text(span.id));
    text +=
        node.parent == traces::kNoNode
            ? "null"
            : fmt::format("\"{}\"", traces::span_id_text(files.spans->spans()[nodes[node.parent].span].id));
    for (const auto& [name, value] : {std::pair("service", names.services.name(span.service)),
                                      std::pair("method", names.operations.name(span.operation)),
                                      std::pair("replica", names.replicas.name(span.replica)),
                                      std::pair("machine", names.machines.name(span.machine))}) {
      text += fmt::format(", \"{}\": ", name);
      append_json_string(value, text);
    }
    text += fmt::format(
        ", \"start_ns\": {}, \"duration_ns\": {}, \"self_ns\": {}, \"is_gap\": {}, \"is_error\": {}}}",
        node.start_ns - trace.start_ns, node.duration_ns(), node.self_ns, node.has(traces::kEdge),
        span.status == traces::SpanStatus::kError);
  }
  return text + "]}\n";
}

Result<TraceFiles> stored_trace(const TraceShowOptions& options) {
  const auto id = traces::parse_trace_id(options.id);
  return id ? read_stored_trace(options.data_dir, *id)
            : Result<TraceFiles>(
                  with_field(fail(ErrorCode::kInvalid, "no trace ID in hexadecimal: {}", options.id), "id"));
}

}  // namespace

Status run_trace_show(const TraceShowOptions& options) {
  if (const Status given = expect_traces_or_data(options.traces, options.data_dir); !given) {
    return given;
  }
  const auto files = options.data_dir.empty() ? read_trace_files(options.traces) : stored_trace(options);
  if (!files) {
    return propagate(files);
  }
  const auto trace = trace_named(options.id, files->assembly);
  if (!trace) {
    return propagate(trace);
  }
  return write_output("-", options.is_json ? trace_json(*files, **trace) : trace_tree(*files, **trace));
}

}  // namespace plimsoll::cli
