#include "store/spans/span_merge.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace plimsoll::store {

SpanMerge::SpanMerge(std::span<const SpanSegment> inputs, const SpanDictionaries& names)
    : names_(names), sizes_(names.sizes()) {
  for (const SpanSegment& input : inputs) {
    cursors_.emplace_back().segment = &input;
  }
}

// The next chunk with spans, if there is one and the cursor is through with the one before.
Status SpanMerge::fill(Cursor& cursor) {
  while (cursor.is_at_end() && cursor.next_chunk < cursor.segment->chunks()) {
    cursor.spans.clear();
    cursor.next = 0;
    if (Status read = cursor.segment->read(cursor.next_chunk++, sizes_, cursor.spans); !read) {
      failed_input_ = static_cast<size_t>(&cursor - cursors_.data());
      return read;
    }
  }
  return {};
}

Status SpanMerge::take_trace(const traces::TraceId& trace, std::vector<PlacedSpan>& spans) {
  for (Cursor& cursor : cursors_) {
    // It may go on in the next chunk.
    while (!cursor.is_at_end() && cursor.span().trace == trace) {
      spans.push_back({cursor.span(), &names_});
      ++cursor.next;
      if (Status filled = fill(cursor); !filled) {
        return filled;
      }
    }
  }
  return {};
}

void SpanMerge::add(const std::vector<PlacedSpan>& spans, MergedSpans& merged) {
  records_.clear();
  for (const PlacedSpan& placed : spans) {
    records_.push_back(placed.span);
    merged.from_ns = std::min(merged.from_ns, first_ns_of(placed.span));
    merged.to_ns = std::max(merged.to_ns, last_ns_of(placed.span));
  }
  writer_.add_trace(records_);
}

Result<MergedSpans> SpanMerge::run(const std::stop_token& stop) {
  for (Cursor& cursor : cursors_) {
    if (const Status filled = fill(cursor); !filled) {
      return propagate(filled);
    }
  }
  MergedSpans merged;
  std::vector<PlacedSpan> spans;
  while (true) {
    std::optional<traces::TraceId> next;
    for (const Cursor& cursor : cursors_) {
      if (!cursor.is_at_end() && (!next || cursor.span().trace < *next)) {
        next = cursor.span().trace;
      }
    }
    if (!next) {
      break;
    }
    if (stop.stop_requested()) {
      return fail(ErrorCode::kUnavailable, "merging spans was stopped");
    }
    spans.clear();
    if (const Status taken = take_trace(*next, spans); !taken) {
      return propagate(taken);
    }
    keep_distinct(spans);
    add(spans, merged);
  }
  merged.spans = writer_.spans();
  merged.content = writer_.finish();
  return merged;
}

}  // namespace plimsoll::store
