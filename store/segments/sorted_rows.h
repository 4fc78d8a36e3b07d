// The rows of one segment, one after the other.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "store/segments/segment.h"
#include "store/segments/segment_cursor.h"

namespace plimsoll::store {

// For merging: as a segment promises that its rows are in order, and what comes out of a merge promises it again, each step is
// checked. Shares the segment, borrows the order. Memory: a chunk of rows (5 MiB). One thread.
class SortedRows {
 public:
  SortedRows(const std::shared_ptr<const Segment>& segment, const RowOrder& order)
      : segment_(segment), order_(&order), cursor_({segment}, {}) {}

  // To the next row, at first to the first one. kCorrupt where the segment is damaged.
  Status advance() { return ++at_ < batch_.size() ? Status() : next_batch(); }

  bool at_end() const { return at_ >= batch_.size(); }
  const Row& row() const { return batch_[at_]; }

 private:
  Status next_batch();

  std::shared_ptr<const Segment> segment_;
  const RowOrder* order_;
  SegmentCursor cursor_;
  std::span<const Row> batch_;
  size_t at_ = 0;
  Row last_;  // of the batch before
};

}  // namespace plimsoll::store
