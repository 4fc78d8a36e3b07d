#include "traces/model/ids.h"

#include <fmt/format.h>

#include <charconv>

namespace plimsoll::traces {
namespace {

constexpr size_t kDigitsOfHalf = 16;

std::optional<uint64_t> parse_hex(std::string_view hex) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  const bool is_whole = error == std::errc() && end == hex.data() + hex.size();
  // from_chars takes a minus sign for unsigned numbers in no base but says so only by the result.
  return is_whole && hex.front() != '-' ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<TraceId> parse_trace_id(std::string_view hex) {
  if (hex.empty() || hex.size() > 2 * kDigitsOfHalf) {
    return std::nullopt;
  }
  const size_t high_digits = hex.size() > kDigitsOfHalf ? hex.size() - kDigitsOfHalf : 0;
  const auto high = high_digits == 0 ? std::optional<uint64_t>(0) : parse_hex(hex.substr(0, high_digits));
  const auto low = parse_hex(hex.substr(high_digits));
  if (!high || !low || (*high == 0 && *low == 0)) {
    return std::nullopt;
  }
  return TraceId{*high, *low};
}

std::optional<SpanId> parse_span_id(std::string_view hex) {
  if (hex.empty() || hex.size() > kDigitsOfHalf) {
    return std::nullopt;
  }
  const auto id = parse_hex(hex);
  return id && *id != 0 ? id : std::nullopt;
}

std::optional<SpanId> parse_parent_id(std::string_view text) {
  const bool is_none = text == "root" || text.find_first_not_of('0') == std::string_view::npos;
  return is_none ? std::optional<SpanId>(0) : parse_span_id(text);
}

std::string to_text(const TraceId& id) {
  return fmt::format("{:016x}{:016x}", id.high, id.low);
}

std::string span_id_text(SpanId id) {
  return fmt::format("{:016x}", id);
}

}  // namespace plimsoll::traces
