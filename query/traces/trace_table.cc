#include "query/traces/trace_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 20> kTraceColumns{
    {{"trace", ""},   {"began", ""},      {"is_partial", ""}, {"depth", "count"}, {"span", ""},
     {"parent", ""},  {"service", ""},    {"method", ""},     {"replica", ""},    {"machine", ""},
     {"start", "ns"}, {"duration", "ns"}, {"self", "ns"},     {"is_gap", ""},     {"is_error", ""},
     {"repairs", ""}, {"attributes", ""}, {"kind", ""},       {"version", ""},    {"profiles", ""}}};

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

// The column of attributes. Each row would have all text of its set, which is one in memory: a trace of many spans with long attributes
// would take many times the memory that is reserved for it.
class AttributeTexts {
 public:
  explicit AttributeTexts(const traces::AttributeTable& table) : table_(table) {}

  // Of the next row. Texts of a SpanSet have no line ends.
  std::string of(const traces::Span& span) {
    left_ += kAttributeBytesOfRow;
    attributes_.clear();
    table_.append_to(attributes_, span.attributes);
    // Numbers of keys are those of the order in which spans came.
    std::ranges::sort(attributes_, {}, &traces::Attribute::key);
    std::string text;
    bool is_cut = false;
    for (const traces::Attribute& attribute : attributes_) {
      const std::string shown = attribute_text(attribute);
      if (shown.size() + 1 > left_) {
        is_cut = true;
        continue;
      }
      left_ -= shown.size() + 1;
      text.append(text.empty() ? "" : "\n").append(shown);
    }
    cut_rows_ += is_cut ? 1 : 0;
    return text;
  }

  void note_in(std::vector<std::string>& notes) const {
    if (cut_rows_ > 0) {
      notes.push_back(fmt::format("attributes left out in {} rows: over {} bytes a row on average", cut_rows_,
                                  kAttributeBytesOfRow));
    }
  }

 private:
  const traces::AttributeTable& table_;
  std::vector<traces::Attribute> attributes_;  // of the row at hand
  uint64_t left_ = kAttributeBytesOfTable;
  size_t cut_rows_ = 0;
};

ProfileLinks::Replicas replicas_of(const traces::Trace& trace, const TracedRequests& requests) {
  ProfileLinks::Replicas replicas;
  for (const traces::Node& node : requests.assembly.nodes_of(trace)) {
    const uint32_t replica = requests.spans->spans()[node.span].replica;
    if (replica != 0) {
      replicas.emplace(requests.spans->names().replicas.name(replica));
    }
  }
  return replicas;
}

// Windows of profiles last some ten seconds, and begin when they may.
store::TimeSpan profile_times_of(const traces::Trace& trace, const traces::Assembly& assembly) {
  constexpr int64_t kProfilesAroundNs = 30 * kNsPerSecond;
  int64_t end_ns = trace.start_ns;
  for (const traces::Node& node : assembly.nodes_of(trace)) {
    end_ns = std::max(end_ns, node.end_ns);
  }
  return {.from_ns = trace.start_ns - kProfilesAroundNs, .to_ns = end_ns + kProfilesAroundNs};
}

}  // namespace

std::string attribute_text(const traces::Attribute& attribute) {
  std::string text;
  for (const char c : attribute.key) {
    text.append(c == '=' || c == '\\' ? "\\" : "").push_back(c);
  }
  return text.append("=").append(attribute.value);
}

std::pair<std::string, std::string> split_attribute(std::string_view text) {
  std::string key;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '=') {
      return {key, std::string(text.substr(at + 1))};
    }
    // Older servers write no escapes.
    const bool is_escape =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '=' || text[at + 1] == '\\');
    at += is_escape ? 1 : 0;
    key += text[at];
  }
  return {key, ""};
}

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

Table trace_table(const traces::Trace& trace, const TracedRequests& requests, const ProfileLinks& links) {
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
  AttributeTexts attributes(requests.spans->attributes());
  table.rows.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const traces::Node& node = nodes[i];
    const traces::Span& span = spans[node.span];
    const bool is_root = node.parent == traces::kNoNode;
    depths[i] = is_root ? 0 : depths[node.parent] + 1;
    table.rows.push_back({id,
                          began,
                          yes_or_no(trace.is_partial),
                          depths[i],
                          traces::span_id_text(span.id),
                          is_root ? Value() : Value(traces::span_id_text(spans[nodes[node.parent].span].id)),
                          std::string(names.services.name(span.service)),
                          std::string(names.operations.name(span.operation)),
                          text_or_none(names.replicas.name(span.replica)),
                          text_or_none(names.machines.name(span.machine)),
                          node.start_ns - trace.start_ns,
                          node.duration_ns(),
                          node.self_ns,
                          yes_or_no(node.has(traces::kEdge)),
                          yes_or_no(span.status == traces::SpanStatus::kError),
                          text_or_none(repairs_of(node)),
                          text_or_none(attributes.of(span)),
                          text_or_none(name_of(span.kind)),
                          text_or_none(names.versions.name(span.version)),
                          text_or_none(links.predicate_for(names.replicas.name(span.replica),
                                                           names.machines.name(span.machine)))});
  }
  table.notes = requests.notes;
  attributes.note_in(table.notes);
  return table;
}

Result<Table> show_stored_trace(const TraceRequest& request, const std::string& data_dir, uint64_t max_spans,
                                const SnapshotOfTimes& snapshot_of) {
  const auto requests = read_stored_request(data_dir, request.id, max_spans);
  if (!requests) {
    return propagate(requests);
  }
  const traces::Trace& trace = requests->assembly.traces.front();
  ProfileLinks links(replicas_of(trace, *requests));
  const auto snapshot = snapshot_of ? snapshot_of({profile_times_of(trace, requests->assembly)})
                                    : Result<std::shared_ptr<const Snapshot>>(nullptr);
  if (snapshot && *snapshot != nullptr) {
    links.add((*snapshot)->dictionaries);
  }
  Table table = trace_table(trace, *requests, links);
  // A store that has only traces has no profiles.
  if (!snapshot && snapshot.error().code != ErrorCode::kNotFound) {
    table.notes.push_back(within_directory(
        fmt::format("profiles are named by machine: they could not be read: {}", snapshot.error().message),
        data_dir));
  }
  return table;
}

}  // namespace plimsoll::query
