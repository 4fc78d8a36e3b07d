#include "store/rows/segment_cursor.h"

#include "store/rows/block_aggregator.h"

namespace plimsoll::store {
Result<std::span<const Row>> SegmentCursor::next() {
  rows_.clear();
  while (rows_.empty() && segment_ < segments_.size()) {
    const Segment& segment = *segments_[segment_];
    if (block_ == segment.blocks()) {
      ++segment_;
      block_ = 0;
      continue;
    }
    if (may_hold(filter_, segment.zones(block_))) {
      if (auto read = read_block(segment); !read) {
        return propagate(read);
      }
    }
    ++block_;
  }
  return std::span<const Row>(rows_);
}

Status SegmentCursor::read_block(const Segment& segment) {
  if (auto read = segment.read_groups(block_, groups_); !read) {
    return read;
  }
  if (auto read = segment.read_matrix(block_, matrix_); !read) {
    return read;
  }
  if (matrix_.is_by_stack) {
    add_by_stack();
  } else {
    add_by_row();
  }
  return {};
}

void SegmentCursor::add(uint32_t group, uint32_t stack, uint64_t hits) {
  const Row row{groups_.event[group],
                groups_.workload[group],
                groups_.origin[group],
                groups_.thread[group],
                stack,
                hits};
  if (RowFilter::selects(filter_.events, row.event) && RowFilter::selects(filter_.workloads, row.workload) &&
      RowFilter::selects(filter_.origins, row.origin) && RowFilter::selects(filter_.threads, row.thread) &&
      RowFilter::selects(filter_.stacks, row.stack)) {
    rows_.push_back(row);
  }
}

void SegmentCursor::add_by_row() {
  for (size_t i = 0; i < matrix_.size; ++i) {
    add(matrix_.group[i], matrix_.stack[i], matrix_.hits[i]);
  }
}

void SegmentCursor::add_by_stack() {
  size_t run = 0;
  size_t gap = 0;
  size_t with_hits = 0;
  for (size_t i = 0; i < matrix_.size; ++i) {
    for (const bool is_multiple : {false, true}) {
      uint32_t group = 0;
      const uint32_t length = is_multiple ? matrix_.multiples[i] : matrix_.singles[i];
      for (uint32_t j = 0; j < length; ++j) {
        group = j == 0 ? matrix_.first[run++] : group + matrix_.gap[gap++] + 1;
        add(group, matrix_.stack[i], is_multiple ? matrix_.hits[with_hits++] : 1);
      }
    }
  }
}

}  // namespace plimsoll::store
