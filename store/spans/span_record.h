// A span as a block has it: with numbers of its dictionaries in place of names.
#pragma once

#include <cstdint>

#include "traces/model/span.h"

namespace plimsoll::store {

// Plain data.
struct SpanRecord {
  traces::TraceId trace = {};
  traces::SpanId id = 0;
  traces::SpanId parent = 0;  // 0: none
  int64_t start_ns = 0;       // not negative
  int64_t end_ns = 0;         // likewise; may be before the start
  uint32_t method = 0;        // service, operation, kind
  uint32_t process = 0;       // replica, machine, version, weight
  uint32_t attributes = 0;    // a set; 0: none
  traces::SpanStatus status = traces::SpanStatus::kUnset;
  bool is_shared = false;

  bool operator==(const SpanRecord&) const = default;
};

// Whether it has IDs and times that a traces::SpanSet takes: what is stored came from one, so that another span is damage.
inline bool is_possible(const SpanRecord& span) {
  return span.trace.is_valid() && span.id != 0 && span.start_ns >= 0 &&
         span.start_ns <= traces::kMaxSpanTimeNs && span.end_ns >= 0 && span.end_ns <= traces::kMaxSpanTimeNs;
}

}  // namespace plimsoll::store
