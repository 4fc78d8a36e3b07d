#include "formats/traces/otlp_json_spans.h"

#include <fmt/format.h>

#include <charconv>

#include "formats/traces/attribute_list.h"
#include "formats/traces/resource_identity.h"

namespace plimsoll::formats {
namespace {

// Empty where it is none. number_in() is for times and sizes, and takes none below 0.
std::string whole_number_text(const Json& value) {
  if (const auto number = number_in(value)) {
    return fmt::format("{}", *number);
  }
  if (value.is_number_integer()) {
    return value.dump();
  }
  const std::string_view text = text_in(value);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::string(text) : std::string();
}

std::string otlp_value_text(const Json& value) {
  if (const auto text = text_in(member(value, "stringValue")); !text.empty()) {
    return std::string(text);
  }
  if (const auto number = whole_number_text(member(value, "intValue")); !number.empty()) {
    return number;
  }
  if (const Json& truth = member(value, "boolValue"); truth.is_boolean()) {
    return is_true(truth) ? "true" : "false";
  }
  const Json& list = member(member(value, "arrayValue"), "values");
  return list.is_array() && !list.empty() ? std::string(text_in(member(list.front(), "stringValue"))) : "";
}

template <typename Enum>
Enum enum_in(const Json& value, Enum last) {
  const auto number = number_in(value);
  return number && *number <= static_cast<int64_t>(last) ? static_cast<Enum>(*number) : Enum{};
}

Status add_otlp_span(const Json& json, const ResourceIdentity& identity, AttributeList& attributes,
                     SpanSink& sink) {
  const auto trace = traces::parse_trace_id(text_in(member(json, "traceId")));
  const auto id = traces::parse_span_id(text_in(member(json, "spanId")));
  const auto parent = parent_in(member(json, "parentSpanId"));
  if (!parent) {
    return sink.reject_parent(id.value_or(0));
  }
  if (attributes.is_wanted()) {
    attributes.begin_span();
    for (const Json& attribute : member(json, "attributes")) {
      attributes.take(text_in(member(attribute, "key")), otlp_value_text(member(attribute, "value")));
    }
  }
  const auto start_ns = number_in(member(json, "startTimeUnixNano"));
  const auto end_ns = number_in(member(json, "endTimeUnixNano"));
  return sink.add({.trace = trace.value_or(traces::TraceId{}),
                   .id = id.value_or(0),
                   .parent = *parent,
                   .start_ns = start_ns.value_or(-1),
                   .end_ns = end_ns.value_or(-1),
                   .service = identity.service(),
                   .operation = text_in(member(json, "name")),
                   .replica = identity.replica(),
                   .machine = identity.machine(),
                   .version = identity.version(),
                   .kind = enum_in(member(json, "kind"), traces::SpanKind::kConsumer),
                   .status = enum_in(member(member(json, "status"), "code"), traces::SpanStatus::kError),
                   .attributes = attributes.all()});
}

}  // namespace

Status read_otlp_json(const Json& document, SpanSink& sink) {
  const Json& all = member(document, "resourceSpans");
  if (!all.is_array()) {
    return with_field(fail(ErrorCode::kCorrupt, "not a list of OTLP's resource spans"), "resourceSpans");
  }
  ResourceIdentity identity;
  AttributeList attributes(sink.spans());
  for (const Json& resource_spans : all) {
    identity.clear();
    attributes.clear();
    for (const Json& attribute : member(member(resource_spans, "resource"), "attributes")) {
      const std::string_view key = text_in(member(attribute, "key"));
      const std::string value = otlp_value_text(member(attribute, "value"));
      identity.take(key, value);
      attributes.take(key, value);
    }
    identity.finish();
    attributes.end_resource();
    for (const Json& scope_spans : member(resource_spans, "scopeSpans")) {
      for (const Json& span : member(scope_spans, "spans")) {
        if (Status added = add_otlp_span(span, identity, attributes, sink); !added) {
          return added;
        }
      }
    }
  }
  return {};
}

}  // namespace plimsoll::formats
