#include "formats/traces/write_spans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/model/ids.h"

namespace plimsoll::formats {
namespace {

// In the order of the document, which people read, too.
using OrderedJson = nlohmann::ordered_json;

constexpr int64_t kNsOfUs = 1000;

double us_of(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsOfUs);
}

auto process_of(const traces::NamedSpan& span) {
  return std::tuple(span.service, span.replica, span.machine, span.version);
}

// Numbers of the processes, from 0, in the order in which they come.
class ProcessNumbers {
 public:
  // The number, and whether it is new.
  std::pair<size_t, bool> of(const traces::NamedSpan& span) {
    const auto [place, is_new] = numbers_.try_emplace(process_of(span), numbers_.size());
    return {place->second, is_new};
  }

 private:
  std::map<decltype(process_of(traces::NamedSpan())), size_t> numbers_;
};

// By OpenTelemetry's semantic conventions.
std::vector<std::pair<std::string_view, std::string_view>> resource_of(const traces::NamedSpan& span) {
  const size_t slash = span.service.find('/');
  const bool has_namespace = slash != std::string_view::npos;
  std::vector<std::pair<std::string_view, std::string_view>> resource{
      {"service.name", has_namespace ? span.service.substr(slash + 1) : span.service}};
  for (const auto& [key, value] :
       {std::pair<std::string_view, std::string_view>{
            "service.namespace", has_namespace ? span.service.substr(0, slash) : std::string_view()},
        {"service.instance.id", span.replica},
        {"host.name", span.machine},
        {"service.version", span.version}}) {
    if (!value.empty()) {
      resource.emplace_back(key, value);
    }
  }
  return resource;
}

OrderedJson otlp_attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

OrderedJson otlp_span(const traces::NamedSpan& span) {
  OrderedJson made{{"traceId", to_text(span.trace)}, {"spanId", traces::span_id_text(span.id)}};
  if (span.parent != 0) {
    made["parentSpanId"] = traces::span_id_text(span.parent);
  }
  made["name"] = span.operation;
  made["kind"] = static_cast<int>(span.kind);
  // 64-bit numbers are texts in Protobuf's JSON.
  made["startTimeUnixNano"] = std::to_string(span.start_ns);
  made["endTimeUnixNano"] = std::to_string(span.end_ns);
  if (!span.attributes.empty()) {
    made["attributes"] = OrderedJson::array();
    for (const traces::Attribute& attribute : span.attributes) {
      made["attributes"].push_back(otlp_attribute(attribute.key, attribute.value));
    }
  }
  if (span.status != traces::SpanStatus::kUnset) {
    made["status"] = {{"code", static_cast<int>(span.status)}};
  }
  return made;
}

OrderedJson otlp_document(std::span<const traces::NamedSpan> spans) {
  OrderedJson resources = OrderedJson::array();
  ProcessNumbers processes;
  for (const traces::NamedSpan& span : spans) {
    const auto [number, is_new] = processes.of(span);
    if (is_new) {
      OrderedJson attributes = OrderedJson::array();
      for (const auto& [key, value] : resource_of(span)) {
        attributes.push_back(otlp_attribute(key, value));
      }
      resources.push_back({{"resource", {{"attributes", std::move(attributes)}}},
                           {"scopeSpans", OrderedJson::array({{{"spans", OrderedJson::array()}}})}});
    }
    resources[number]["scopeSpans"][0]["spans"].push_back(otlp_span(span));
  }
  return {{"resourceSpans", std::move(resources)}};
}

OrderedJson jaeger_tag(std::string_view key, std::string_view value) {
  return {{"key", key}, {"type", "string"}, {"value", value}};
}

OrderedJson jaeger_span(const traces::NamedSpan& span, const std::string& process) {
  const std::string trace = to_text(span.trace);
  OrderedJson references = OrderedJson::array();
  if (span.parent != 0) {
    references.push_back(
        {{"refType", "CHILD_OF"}, {"traceID", trace}, {"spanID", traces::span_id_text(span.parent)}});
  }
  OrderedJson tags = OrderedJson::array();
  if (const std::string_view kind = name_of(span.kind); !kind.empty()) {
    tags.push_back(jaeger_tag("span.kind", kind));
  }
  if (span.status != traces::SpanStatus::kUnset) {
    tags.push_back(
        jaeger_tag("otel.status_code", span.status == traces::SpanStatus::kError ? "ERROR" : "OK"));
  }
  if (span.status == traces::SpanStatus::kError) {
    // Jaeger's page marks calls by it.
    tags.push_back({{"key", "error"}, {"type", "bool"}, {"value", true}});
  }
  for (const traces::Attribute& attribute : span.attributes) {
    tags.push_back(jaeger_tag(attribute.key, attribute.value));
  }
  return {{"traceID", trace},
          {"spanID", traces::span_id_text(span.id)},
          {"operationName", span.operation},
          {"references", std::move(references)},
          {"startTime", span.start_ns / kNsOfUs},
          {"duration", std::max<int64_t>(span.end_ns - span.start_ns, 0) / kNsOfUs},
          {"tags", std::move(tags)},
          {"logs", OrderedJson::array()},
          {"processID", process}};
}

OrderedJson jaeger_document(std::span<const traces::NamedSpan> spans) {
  OrderedJson made = OrderedJson::array();
  OrderedJson described = OrderedJson::object();
  ProcessNumbers processes;
  for (const traces::NamedSpan& span : spans) {
    const auto [number, is_new] = processes.of(span);
    const std::string name = "p" + std::to_string(number + 1);
    if (is_new) {
      const auto resource = resource_of(span);
      OrderedJson tags = OrderedJson::array();
      for (const auto& [key, value] : std::span(resource).subspan(1)) {
        tags.push_back(jaeger_tag(key, value));
      }
      described[name] = {{"serviceName", resource.front().second}, {"tags", std::move(tags)}};
    }
    made.push_back(jaeger_span(span, name));
  }
  const std::string trace = spans.empty() ? std::string() : to_text(spans.front().trace);
  OrderedJson of_trace{{"traceID", trace}, {"spans", std::move(made)}, {"processes", std::move(described)}};
  return {{"data", OrderedJson::array({std::move(of_trace)})}};
}

// Calls that overlap and do not lie within each other need rows of their own: viewers draw a row as a stack.
class ChromeRows {
 public:
  // Of the next span by start; calls within those of the same row that have not ended.
  size_t of(const traces::NamedSpan& span) {
    for (size_t row = 0; row < kNestedRows; ++row) {
      if (row == open_.size()) {
        open_.emplace_back();
      }
      std::vector<int64_t>& ends = open_[row];
      while (!ends.empty() && ends.back() <= span.start_ns) {
        ends.pop_back();
      }
      if (ends.empty() || ends.back() >= span.end_ns) {
        ends.push_back(span.end_ns);
        return row;
      }
    }
    size_t row = kNestedRows + ends_.size();
    if (!ends_.empty() && ends_.top().first <= span.start_ns) {
      row = ends_.top().second;
      ends_.pop();
    }
    ends_.emplace(span.end_ns, row);
    return row;
  }

 private:
  // Each call looks at all of these. Where more overlap, each further row has one call at a time: that which ends first is free first.
  static constexpr size_t kNestedRows = 64;
  using EndOfRow = std::pair<int64_t, size_t>;

  std::vector<std::vector<int64_t>> open_;  // ends of the calls that lie within each other, by row
  std::priority_queue<EndOfRow, std::vector<EndOfRow>, std::greater<>> ends_;  // of the further rows
};

OrderedJson chrome_arguments(const traces::NamedSpan& span) {
  OrderedJson arguments{{"span", traces::span_id_text(span.id)}};
  if (span.parent != 0) {
    arguments["parent"] = traces::span_id_text(span.parent);
  }
  if (span.status == traces::SpanStatus::kError) {
    arguments["error"] = true;
  }
  for (const traces::Attribute& attribute : span.attributes) {
    arguments[std::string(attribute.key)] = attribute.value;
  }
  return arguments;
}

OrderedJson chrome_document(std::span<const traces::NamedSpan> spans) {
  std::vector<const traces::NamedSpan*> by_start;
  for (const traces::NamedSpan& span : spans) {
    by_start.push_back(&span);
  }
  // Of those that begin together the longest first: the others lie within it.
  std::ranges::sort(by_start, {}, [](const traces::NamedSpan* span) {
    return std::tuple(span->start_ns, -span->end_ns, span->id);
  });
  OrderedJson events = OrderedJson::array();
  ProcessNumbers processes;
  std::vector<ChromeRows> rows;
  for (const traces::NamedSpan* span : by_start) {
    const auto [number, is_new] = processes.of(*span);
    if (is_new) {
      rows.emplace_back();
      std::string name(span->service);
      if (!span->replica.empty()) {
        name.append(" on ").append(span->replica);
      }
      events.push_back(
          {{"ph", "M"}, {"name", "process_name"}, {"pid", number + 1}, {"args", {{"name", name}}}});
    }
    events.push_back({{"ph", "X"},
                      {"name", span->operation},
                      {"cat", "request"},
                      {"ts", us_of(span->start_ns - by_start.front()->start_ns)},
                      {"dur", us_of(std::max<int64_t>(span->end_ns - span->start_ns, 0))},
                      {"pid", number + 1},
                      {"tid", rows[number].of(*span) + 1},
                      {"args", chrome_arguments(*span)}});
  }
  return {{"traceEvents", std::move(events)}};
}

}  // namespace

std::string write_trace(std::span<const traces::NamedSpan> spans, TraceExport format) {
  const OrderedJson document = format == TraceExport::kOtlpJson     ? otlp_document(spans)
                               : format == TraceExport::kJaegerJson ? jaeger_document(spans)
                                                                    : chrome_document(spans);
  return document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::formats
