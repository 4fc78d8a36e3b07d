// Segments of spans of one block as one: read, joined and encoded trace after trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/spans/span_dictionaries.h"
#include "store/spans/span_order.h"
#include "store/spans/span_segment.h"

namespace plimsoll::store {

struct MergedSpans {
  std::string content;  // of the file
  uint64_t spans = 0;   // without the copies that were in several
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
};

// Of copies of a span the one stays that an answer would have: before and after merging answers are the same. Memory: a chunk of each input,
// 12 MB, and the new file, some 25 bytes a span.
class SpanMerge {
 public:
  // Borrows both. The dictionaries are those of the block.
  SpanMerge(std::span<const SpanSegment> inputs, const SpanDictionaries& names);

  // Once. kCorrupt where an input is damaged (failed_input()); kUnavailable once `stop` is requested.
  Result<MergedSpans> run(const std::stop_token& stop);
  size_t failed_input() const { return failed_input_; }

 private:
  // An input, chunk by chunk.
  struct Cursor {
    const SpanSegment* segment = nullptr;
    size_t next_chunk = 0;
    std::vector<SpanRecord> spans;  // of the chunk at hand
    size_t next = 0;                // of these

    bool is_at_end() const { return next == spans.size(); }
    const SpanRecord& span() const { return spans[next]; }
  };

  Status fill(Cursor& cursor);
  Status take_trace(const traces::TraceId& trace, std::vector<PlacedSpan>& spans);
  void add(const std::vector<PlacedSpan>& spans, MergedSpans& merged);

  const SpanDictionaries& names_;
  const SpanDictionaries::Sizes sizes_;
  std::vector<Cursor> cursors_;
  SpanSegmentWriter writer_;
  std::vector<SpanRecord> records_;  // of the trace at hand
  size_t failed_input_ = 0;
};

}  // namespace plimsoll::store
