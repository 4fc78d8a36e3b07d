#include "formats/traces/zipkin_spans.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "formats/traces/attribute_list.h"
#include "formats/traces/resource_identity.h"

namespace plimsoll::formats {
namespace {

traces::SpanKind zipkin_kind(std::string_view text) {
  using traces::SpanKind;
  return text == "CLIENT"     ? SpanKind::kClient
         : text == "SERVER"   ? SpanKind::kServer
         : text == "PRODUCER" ? SpanKind::kProducer
         : text == "CONSUMER" ? SpanKind::kConsumer
                              : SpanKind::kUnspecified;
}

void take_zipkin_tags(const Json& tags, ResourceIdentity& identity, AttributeList& attributes) {
  if (!tags.is_object()) {
    return;
  }
  for (const auto& [key, value] : tags.items()) {
    const std::string_view name = key;
    attributes.take(name, text_in(value));
    identity.take(name == "instance" ? "service.instance.id"
                  : name == "pod"    ? "k8s.pod.name"
                                     : name,
                  text_in(value));
  }
}

// Zipkin's own tag, or the one by which OpenTelemetry's exporters say it.
traces::SpanStatus zipkin_status(const Json& tags) {
  const std::string_view code = text_in(member(tags, "otel.status_code"));
  const bool is_error = tags.is_object() && tags.contains("error");
  return is_error || code == "ERROR" ? traces::SpanStatus::kError
         : code == "OK"              ? traces::SpanStatus::kOk
                                     : traces::SpanStatus::kUnset;
}

struct SpanTimes {
  int64_t start_ns = -1;  // -1, which no span may have, where it is none
  int64_t end_ns = -1;
};

// A span that was sent in parts may have no time, or 0 for none: then that of its annotations. One that is still running has no duration.
SpanTimes zipkin_times(const Json& json) {
  const Json& timestamp = member(json, "timestamp");
  const Json& duration = member(json, "duration");
  SpanTimes times;
  if (timestamp.is_null() || number_in(timestamp) == 0) {
    for (const Json& annotation : member(json, "annotations")) {
      const int64_t time_ns = ns_from_us(member(annotation, "timestamp"));
      if (time_ns > 0) {
        times.start_ns = times.start_ns < 0 ? time_ns : std::min(times.start_ns, time_ns);
        times.end_ns = std::max(times.end_ns, time_ns);
      }
    }
  } else {
    times.start_ns = times.end_ns = ns_from_us(timestamp);
  }
  if (!duration.is_null() && times.start_ns >= 0) {
    const int64_t duration_ns = ns_from_us(duration);
    times.end_ns =
        duration_ns < 0 || duration_ns > INT64_MAX - times.start_ns ? -1 : times.start_ns + duration_ns;
  }
  return times;
}

Status add_zipkin_span(const Json& json, ResourceIdentity& identity, AttributeList& attributes,
                       SpanSink& sink) {
  const Json& endpoint = member(json, "localEndpoint");
  const Json& tags = member(json, "tags");
  identity.clear();
  attributes.clear();
  take_zipkin_tags(tags, identity, attributes);
  identity.take("service.name", text_in(member(endpoint, "serviceName")));
  identity.finish();
  std::string_view replica = identity.replica();
  for (const char* address : {"ipv4", "ipv6"}) {
    replica = replica.empty() ? text_in(member(endpoint, address)) : replica;
  }
  const SpanTimes times = zipkin_times(json);
  const traces::SpanId id = traces::parse_span_id(text_in(member(json, "id"))).value_or(0);
  const auto parent = parent_in(member(json, "parentId"));
  if (!parent) {
    return sink.reject_parent(id);
  }
  return sink.add(
      {.trace = traces::parse_trace_id(text_in(member(json, "traceId"))).value_or(traces::TraceId{}),
       .id = id,
       .parent = *parent,
       .start_ns = times.start_ns,
       .end_ns = times.end_ns,
       .service = identity.service(),
       .operation = text_in(member(json, "name")),
       .replica = replica,
       .machine = identity.machine(),
       .version = identity.version(),
       .kind = zipkin_kind(text_in(member(json, "kind"))),
       .status = zipkin_status(tags),
       .is_shared = is_true(member(json, "shared")),
       .attributes = attributes.all()});
}

}  // namespace

Status read_zipkin(const Json& document, SpanSink& sink) {
  if (!document.is_array()) {
    return fail(ErrorCode::kCorrupt, "not a list of Zipkin's spans");
  }
  ResourceIdentity identity;
  AttributeList attributes(sink.spans());
  for (const Json& item : document) {
    if (!item.is_array()) {
      if (Status added = add_zipkin_span(item, identity, attributes, sink); !added) {
        return added;
      }
      continue;
    }
    for (const Json& span : item) {
      if (Status added = add_zipkin_span(span, identity, attributes, sink); !added) {
        return added;
      }
    }
  }
  return {};
}

}  // namespace plimsoll::formats
