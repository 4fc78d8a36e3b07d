#include "formats/traces/otlp_json_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

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
  if (const auto text = text_in(member(value, "stringValue", "string_value")); !text.empty()) {
    return std::string(text);
  }
  if (const auto number = whole_number_text(member(value, "intValue", "int_value")); !number.empty()) {
    return number;
  }
  if (const Json& truth = member(value, "boolValue", "bool_value"); truth.is_boolean()) {
    return is_true(truth) ? "true" : "false";
  }
  const Json& list = member(member(value, "arrayValue", "array_value"), "values");
  return list.is_array() && !list.empty()
             ? std::string(text_in(member(list.front(), "stringValue", "string_value")))
             : "";
}

constexpr std::array<const char*, 3> kListNames{"resourceSpans", "resource_spans", "batches"};

// In the order of their numbers, without the prefix of their type.
constexpr std::array<std::string_view, 6> kKindNames{"UNSPECIFIED", "INTERNAL", "SERVER",
                                                     "CLIENT",      "PRODUCER", "CONSUMER"};
constexpr std::array<std::string_view, 3> kStatusNames{"UNSET", "OK", "ERROR"};

template <typename Enum, size_t kNumbers>
Enum enum_in(const Json& value, std::string_view prefix,
             const std::array<std::string_view, kNumbers>& names) {
  if (const auto number = number_in(value)) {
    return *number < static_cast<int64_t>(kNumbers) ? static_cast<Enum>(*number) : Enum{};
  }
  std::string_view name = text_in(value);
  name.remove_prefix(name.starts_with(prefix) ? prefix.size() : 0);
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? Enum{} : static_cast<Enum>(found - names.begin());
}

// Of either alphabet (RFC 4648); nothing for another character.
std::optional<uint32_t> base64_digit(char c) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t digit = kDigits.find(c == '-' ? '+' : c == '_' ? '/' : c);
  return digit == std::string_view::npos ? std::nullopt : std::optional(static_cast<uint32_t>(digit));
}

// An ID in hexadecimal. 16 and 8 bytes in base64 end with '=', which hexadecimal never does; what is not base64 either stays, and is no ID.
std::string id_text(std::string_view text) {
  constexpr unsigned kBitsOfDigit = 6;
  constexpr unsigned kBitsOfByte = 8;
  constexpr size_t kMaxDigits = 22;  // of 16 bytes
  const std::string_view digits = text.substr(0, text.find('='));
  if (digits.empty() || digits.size() == text.size() || digits.size() > kMaxDigits) {
    return std::string(text);
  }
  std::string hex;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : digits) {
    const auto digit = base64_digit(c);
    if (!digit) {
      return std::string(text);
    }
    bits = bits << kBitsOfDigit | *digit;
    count += kBitsOfDigit;
    if (count >= kBitsOfByte) {
      count -= kBitsOfByte;
      hex += fmt::format("{:02x}", bits >> count & 0xffU);
    }
  }
  return hex;
}

std::optional<traces::SpanId> otlp_parent_in(const Json& value) {
  return value.is_string() ? traces::parse_parent_id(id_text(text_in(value))) : parent_in(value);
}

Status add_otlp_span(const Json& json, const ResourceIdentity& identity, AttributeList& attributes,
                     SpanSink& sink) {
  const auto trace = traces::parse_trace_id(id_text(text_in(member(json, "traceId", "trace_id"))));
  const auto id = traces::parse_span_id(id_text(text_in(member(json, "spanId", "span_id"))));
  const auto parent = otlp_parent_in(member(json, "parentSpanId", "parent_span_id"));
  if (!parent) {
    return sink.reject_parent(id.value_or(0));
  }
  if (attributes.is_wanted()) {
    attributes.begin_span();
    for (const Json& attribute : member(json, "attributes")) {
      attributes.take(text_in(member(attribute, "key")), otlp_value_text(member(attribute, "value")));
    }
  }
  const auto start_ns = number_in(member(json, "startTimeUnixNano", "start_time_unix_nano"));
  const auto end_ns = number_in(member(json, "endTimeUnixNano", "end_time_unix_nano"));
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
                   .kind = enum_in<traces::SpanKind>(member(json, "kind"), "SPAN_KIND_", kKindNames),
                   .status = enum_in<traces::SpanStatus>(member(member(json, "status"), "code"),
                                                         "STATUS_CODE_", kStatusNames),
                   .attributes = attributes.all()});
}

// Exporters of before OpenTelemetry 1.11 (2022) have scopes by another name.
const Json& scope_spans_of(const Json& resource_spans) {
  const Json& scopes = member(resource_spans, "scopeSpans", "scope_spans");
  return scopes.is_null()
             ? member(resource_spans, "instrumentationLibrarySpans", "instrumentation_library_spans")
             : scopes;
}

}  // namespace

bool is_otlp_json(const Json& document) {
  return document.is_object() &&
         std::ranges::any_of(kListNames, [&document](const char* name) { return document.contains(name); });
}

Status read_otlp_json(const Json& document, SpanSink& sink) {
  const auto* const name =
      std::ranges::find_if(kListNames, [&](const char* of) { return !member(document, of).is_null(); });
  if (name == kListNames.end()) {
    return {};
  }
  const Json& all = member(document, *name);
  if (!all.is_array()) {
    return with_field(fail(ErrorCode::kCorrupt, "not a list of OTLP's resource spans"), *name);
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
    for (const Json& scope_spans : scope_spans_of(resource_spans)) {
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
