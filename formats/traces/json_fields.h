// Values of JSON documents from outside, of whatever type. Internal to formats/traces; includes nlohmann-json.
#pragma once

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/model/ids.h"

namespace plimsoll::formats {

using Json = nlohmann::json;

// Of an object; null where it is none, or has no such member.
inline const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) {
    return kNull;
  }
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

// As above, of a member that may have either name: Protobuf's JSON is read with the names of the fields, too.
inline const Json& member(const Json& object, const char* name, const char* field_name) {
  const Json& found = member(object, name);
  return found.is_null() ? member(object, field_name) : found;
}

// Empty for what is no text.
inline std::string_view text_in(const Json& value) {
  const auto* const text = value.get_ptr<const std::string*>();
  return text == nullptr ? std::string_view() : *text;
}

// A whole number from 0 on, also as text (64-bit numbers in Protobuf's JSON); nothing for anything else.
inline std::optional<int64_t> number_in(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(number));
  }
  if (value.is_number_float()) {
    constexpr double kMax = 9e18;
    const auto number = value.get<double>();
    return number >= 0 && number < kMax ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }
  const std::string_view text = text_in(value);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_whole && number >= 0 ? std::optional(number) : std::nullopt;
}

// The ID of a span's parent, 0 for none; nothing where there is something else than an ID.
inline std::optional<traces::SpanId> parent_in(const Json& value) {
  if (value.is_null()) {
    return 0;
  }
  return value.is_string() ? traces::parse_parent_id(text_in(value)) : std::nullopt;
}

inline bool is_true(const Json& value) {
  return value.is_boolean() && value.get<bool>();
}

// -1, which no span may have as time, where it is no time or leaves 63 bits.
inline int64_t ns_from_us(const Json& us) {
  constexpr int64_t kNsPerUs = 1000;
  const auto number = number_in(us);
  return number && *number <= INT64_MAX / kNsPerUs ? *number * kNsPerUs : -1;
}

}  // namespace plimsoll::formats
