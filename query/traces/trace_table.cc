#include "query/traces/trace_table.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 16> kTraceColumns{{{"trace", ""},
                                                                             {"began", ""},
                                                                             {"is_partial", ""},
                                                                             {"depth", "count"},
                                                                             {"span", ""},
                                                                             {"parent", ""},
                                                                             {"service", ""},
                                                                             {"method", ""},
                                                                             {"replica", ""},
                                                                             {"machine", ""},
                                                                             {"start", "ns"},
                                                                             {"duration", "ns"},
                                                                             {"self", "ns"},
                                                                             {"is_gap", ""},
                                                                             {"is_error", ""},
                                                                             {"repairs", ""}}};

std::string yes_or_no(bool is_so) {
  return is_so ? "yes" : "no";
}

Value text_or_none(std::string_view text) {
  return text.empty() ? Value() : Value(std::string(text));
}

std::string repairs_of(const traces::Node& node) {
  std::string text;
  for (const auto& [flag, word] :
       {std::pair(traces::kOrphan, "parent missing"), std::pair(traces::kShifted, "clock shifted"),
        std::pair(traces::kOutsideParent, "outside parent"),
        std::pair(traces::kEndFixed, "end before start")}) {
    if (node.has(flag)) {
      text += text.empty() ? "" : ", ";
      text += word;
    }
  }
  return text;
}

}  // namespace

Result<TraceRequest> parse_trace(const Parameters& parameters, int64_t /*now_ns*/) {
  std::string id;
  const std::vector<Parameter> known{text_parameter("id", id)};
  if (const Status read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (id.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "the ID of the trace is missing"), "id");
  }
  const auto parsed = traces::parse_trace_id(id);
  return parsed ? Result<TraceRequest>(TraceRequest{*parsed})
                : with_field(fail(ErrorCode::kInvalid, "no trace ID in hexadecimal: {}", id), "id");
}

Table trace_table(const traces::Trace& trace, const TracedRequests& requests) {
  Table table;
  for (const auto& [name, unit] : kTraceColumns) {
    table.columns.push_back({.name = name, .unit = unit});
  }
  const traces::Names& names = requests.spans->names();
  const std::vector<traces::Span>& spans = requests.spans->spans();
  const std::string id = to_text(trace.id);
  const std::string began = format_time(trace.start_ns);
  const auto nodes = requests.assembly.nodes_of(trace);
  std::vector<int64_t> depths(nodes.size());
  table.rows.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const traces::Node& node = nodes[i];
    const traces::Span& span = spans[node.span];
    const bool is_root = node.parent == traces::kNoNode;
    depths[i] = is_root ? 0 : depths[node.parent] + 1;
    table.rows.push_back(
        {id, began, yes_or_no(trace.is_partial), depths[i], traces::span_id_text(span.id),
         is_root ? Value() : Value(traces::span_id_text(spans[nodes[node.parent].span].id)),
         std::string(names.services.name(span.service)), std::string(names.operations.name(span.operation)),
         text_or_none(names.replicas.name(span.replica)), text_or_none(names.machines.name(span.machine)),
         node.start_ns - trace.start_ns, node.duration_ns(), node.self_ns, yes_or_no(node.has(traces::kEdge)),
         yes_or_no(span.status == traces::SpanStatus::kError), text_or_none(repairs_of(node))});
  }
  return table;
}

Result<Table> show_stored_trace(const TraceRequest& request, const std::string& data_dir,
                                uint64_t max_spans) {
  const auto requests = read_stored_request(data_dir, request.id, max_spans);
  if (!requests) {
    return propagate(requests);
  }
  Table table = trace_table(requests->assembly.traces.front(), *requests);
  table.notes = requests->notes;
  return table;
}

}  // namespace plimsoll::query
