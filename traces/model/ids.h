// IDs of traces and spans, as W3C Trace Context and OpenTelemetry have them: 16 and 8 bytes, all zeros invalid.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::traces {

struct TraceId {
  uint64_t high = 0;  // the first 8 bytes, big-endian; 0 in traces with IDs of 64 bits (Zipkin)
  uint64_t low = 0;

  bool is_valid() const { return high != 0 || low != 0; }
  auto operator<=>(const TraceId&) const = default;
};

// The 8 bytes, big-endian. 0: none.
using SpanId = uint64_t;

// Hexadecimal of either case, at most 32 and 16 digits; fewer are the low digits, as Zipkin and Jaeger write them. Nothing for other text
// and for all zeros.
std::optional<TraceId> parse_trace_id(std::string_view hex);
std::optional<SpanId> parse_span_id(std::string_view hex);
// That of a span's parent: 0, for none, of an empty text, "root" and zeros; nothing for what is no ID.
std::optional<SpanId> parse_parent_id(std::string_view text);

// Lower-case, 32 and 16 digits.
std::string to_text(const TraceId& id);
std::string span_id_text(SpanId id);

// Spreads IDs over all bits, also where an application counts them up.
inline uint64_t mixed(uint64_t value) {
  // The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace plimsoll::traces
