#include "formats/traces/jaeger_spans.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "formats/traces/attribute_list.h"
#include "formats/traces/resource_identity.h"

namespace plimsoll::formats {
namespace {

std::string tag_text(const Json& value) {
  if (value.is_number_integer()) {
    return value.dump();
  }
  return value.is_boolean() ? (is_true(value) ? "true" : "false") : std::string(text_in(value));
}

struct JaegerTags {
  traces::SpanKind kind = traces::SpanKind::kUnspecified;
  traces::SpanStatus status = traces::SpanStatus::kUnset;
};

JaegerTags read_jaeger_tags(const Json& tags, AttributeList& attributes) {
  using traces::SpanKind;
  using traces::SpanStatus;
  static const std::map<std::string_view, SpanKind> kinds{{"internal", SpanKind::kInternal},
                                                          {"server", SpanKind::kServer},
                                                          {"client", SpanKind::kClient},
                                                          {"producer", SpanKind::kProducer},
                                                          {"consumer", SpanKind::kConsumer}};
  JaegerTags read;
  for (const Json& tag : tags) {
    const std::string_view key = text_in(member(tag, "key"));
    const std::string value = tag_text(member(tag, "value"));
    attributes.take(key, value);
    if (key == "span.kind") {
      const auto kind = kinds.find(value);
      read.kind = kind == kinds.end() ? SpanKind::kUnspecified : kind->second;
    } else if ((key == "error" && value == "true") || (key == "otel.status_code" && value == "ERROR")) {
      read.status = SpanStatus::kError;
    } else if (key == "otel.status_code" && value == "OK") {
      read.status = SpanStatus::kOk;
    }
  }
  return read;
}

struct JaegerParent {
  std::optional<traces::SpanId> id;  // nothing where the parent within the trace has an unreadable ID
  bool is_followed = false;          // it does not wait for the span
};

JaegerParent jaeger_parent(const Json& span, const traces::TraceId& trace) {
  JaegerParent parent{.id = parent_in(member(span, "parentSpanID"))};
  bool is_child = false;
  for (const Json& reference : member(span, "references")) {
    const auto of = traces::parse_trace_id(text_in(member(reference, "traceID")));
    const bool says_child = text_in(member(reference, "refType")) == "CHILD_OF";
    if (of == trace && (parent.id == 0 || (says_child && !is_child))) {
      parent.id = parent_in(member(reference, "spanID"));
      parent.is_followed = !says_child;
      is_child = says_child;
    }
  }
  return parent;
}

struct Process {
  ResourceIdentity identity;
  AttributeList attributes;
};
using Processes = std::map<std::string, Process, std::less<>>;

void add_process(const std::string& name, const Json& process, const traces::SpanSet& spans,
                 Processes& processes) {
  Process& made = processes.try_emplace(name, Process{{}, AttributeList(spans)}).first->second;
  ResourceIdentity& identity = made.identity;
  identity.take("service.name", text_in(member(process, "serviceName")));
  for (const Json& tag : member(process, "tags")) {
    const std::string_view key = text_in(member(tag, "key"));
    const std::string value = tag_text(member(tag, "value"));
    identity.take(key, value);
    made.attributes.take(key, value);
  }
  identity.finish();
  made.attributes.end_resource();
}

Status add_jaeger_span(const Json& json, Process& process, SpanSink& sink) {
  const ResourceIdentity& identity = process.identity;
  const auto trace = traces::parse_trace_id(text_in(member(json, "traceID"))).value_or(traces::TraceId{});
  const traces::SpanId id = traces::parse_span_id(text_in(member(json, "spanID"))).value_or(0);
  const JaegerParent parent = jaeger_parent(json, trace);
  if (!parent.id.has_value()) {
    return sink.reject_parent(id);
  }
  process.attributes.begin_span();
  JaegerTags tags = read_jaeger_tags(member(json, "tags"), process.attributes);
  if (parent.is_followed && tags.kind == traces::SpanKind::kUnspecified) {
    // The only kind that no caller waits for.
    tags.kind = traces::SpanKind::kConsumer;
  }
  const int64_t start_ns = ns_from_us(member(json, "startTime"));
  const int64_t duration_ns = ns_from_us(member(json, "duration"));
  const bool is_sound = start_ns >= 0 && duration_ns >= 0 && duration_ns <= INT64_MAX - start_ns;
  return sink.add({.trace = trace,
                   .id = id,
                   .parent = *parent.id,
                   .start_ns = start_ns,
                   .end_ns = is_sound ? start_ns + duration_ns : -1,
                   .service = identity.service(),
                   .operation = text_in(member(json, "operationName")),
                   .replica = identity.replica(),
                   .machine = identity.machine(),
                   .version = identity.version(),
                   .kind = tags.kind,
                   .status = tags.status,
                   .attributes = process.attributes.all()});
}

Status read_jaeger_trace(const Json& trace, SpanSink& sink) {
  Processes processes;
  const Json& described = member(trace, "processes");
  if (described.is_object()) {
    for (const auto& [name, process] : described.items()) {
      add_process(name, process, sink.spans(), processes);
    }
  }
  Process unknown{{}, AttributeList(sink.spans())};
  unknown.identity.finish();
  for (const Json& span : member(trace, "spans")) {
    const auto process = processes.find(text_in(member(span, "processID")));
    Process& by = process == processes.end() ? unknown : process->second;
    if (Status added = add_jaeger_span(span, by, sink); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace

Status read_jaeger(const Json& document, SpanSink& sink) {
  const Json& all = member(document, "data");
  if (!member(all, "spans").is_null()) {
    return read_jaeger_trace(all, sink);
  }
  if (!all.is_array()) {
    return with_field(fail(ErrorCode::kCorrupt, "not a list of Jaeger's traces"), "data");
  }
  for (const Json& trace : all) {
    if (Status read = read_jaeger_trace(trace, sink); !read) {
      return read;
    }
  }
  return {};
}

}  // namespace plimsoll::formats
