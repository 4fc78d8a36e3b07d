// One call of a method: what all formats of request traces have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "traces/model/attribute_table.h"
#include "traces/model/ids.h"

namespace plimsoll::traces {

// Numbers as in OTLP.
enum class SpanKind : uint8_t { kUnspecified, kInternal, kServer, kClient, kProducer, kConsumer };
enum class SpanStatus : uint8_t { kUnset, kOk, kError };

// "server", "client" ...; "" of kUnspecified.
std::string_view name_of(SpanKind kind);

// In the year 2116. Sums of two times fit into 64 bits.
inline constexpr int64_t kMaxSpanTimeNs = INT64_MAX / 2;

// Plain data of 80 bytes; names are IDs in the tables of its SpanSet. Nothing in it was checked against other spans: assemble() does.
struct Span {
  TraceId trace = {};
  SpanId id = 0;
  SpanId parent = 0;     // 0: the root of its trace
  int64_t start_ns = 0;  // wall clock of the span's own machine
  int64_t end_ns = 0;    // may be before the start
  uint32_t service = 0;
  uint32_t operation = 0;
  uint32_t replica = 0;     // one running copy of the service; 0: unknown
  uint32_t machine = 0;     // 0: unknown
  uint32_t version = 0;     // 0: unknown
  uint32_t attributes = 0;  // a set of the SpanSet's AttributeTable; 0: none, or not kept
  SpanKind kind = SpanKind::kUnspecified;
  SpanStatus status = SpanStatus::kUnset;
  // The server's half of a call whose client's half has the same ID (Zipkin): a child of that half.
  bool is_shared = false;

  int64_t duration_ns() const { return end_ns - start_ns; }
};

// A span as its reader finds it, with names as text. Borrows.
struct NamedSpan {
  TraceId trace = {};
  SpanId id = 0;
  SpanId parent = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string_view service = {};
  std::string_view operation = {};
  std::string_view replica = {};
  std::string_view machine = {};
  std::string_view version = {};
  SpanKind kind = SpanKind::kUnspecified;
  SpanStatus status = SpanStatus::kUnset;
  bool is_shared = false;
  std::span<const Attribute> attributes = {};  // of the span and its resource; of equal keys the last counts
};

}  // namespace plimsoll::traces
