#include "store/segments/segment_cursor.h"

#include <algorithm>

namespace plimsoll::store {
Result<std::span<const Row>> SegmentCursor::next() {
  rows_.clear();
  while (rows_.empty() && segment_ < segments_.size()) {
    if (const Status goes_on = check(); !goes_on) {
      return propagate(goes_on);
    }
    const Segment& segment = *segments_[segment_];
    const bool is_left_out = chunk_ == 0 && segment.is_damaged();
    if (chunk_ == segment.chunks() || is_left_out) {
      ++segment_;
      chunk_ = 0;
      continue;
    }
    if (zone_filter_.may_hold(segment.zones(chunk_))) {
      if (auto read = read_chunk(segment); !read) {
        return propagate(read);
      }
    }
    ++chunk_;
  }
  return std::span<const Row>(rows_);
}

Status SegmentCursor::read_chunk(const Segment& segment) {
  if (auto read = segment.read_groups(chunk_, groups_); !read) {
    return read;
  }
  if (auto read = segment.read_matrix(chunk_, matrix_); !read) {
    return read;
  }
  select_groups();
  entries_.clear();
  if (matrix_.is_by_stack) {
    collect_by_stack();
  } else {
    collect_by_row();
  }
  order_by_group();
  return {};
}

void SegmentCursor::select_groups() {
  is_selected_.resize(groups_.size);
  for (size_t group = 0; group < groups_.size; ++group) {
    const bool is_selected = std::ranges::all_of(kGroupColumns, [&](Column column) {
      return IdSet::selects(*flags_[column], groups_[column][group]);
    });
    is_selected_[group] = is_selected ? 1 : 0;
  }
}

void SegmentCursor::add(const Entry& entry) {
  if (is_selected_[entry.group] != 0 && IdSet::selects(*flags_[Column::kStack], entry.stack)) {
    entries_.push_back(entry);
  }
}

void SegmentCursor::collect_by_row() {
  for (size_t i = 0; i < matrix_.size; ++i) {
    add({matrix_.group[i], matrix_.stack[i], matrix_.hits[i]});
  }
}

void SegmentCursor::collect_by_stack() {
  size_t run = 0;
  size_t gap = 0;
  size_t with_hits = 0;
  for (size_t i = 0; i < matrix_.size; ++i) {
    for (const bool is_multiple : {false, true}) {
      uint32_t group = 0;
      const uint32_t length = is_multiple ? matrix_.multiples[i] : matrix_.singles[i];
      for (uint32_t j = 0; j < length; ++j) {
        group = j == 0 ? matrix_.first[run++] : group + matrix_.gap[gap++] + 1;
        add({group, matrix_.stack[i], is_multiple ? matrix_.hits[with_hits++] : 1});
      }
    }
  }
}

// Entries come by ascending stack, and each group's stay in that order.
void SegmentCursor::order_by_group() {
  next_.assign(groups_.size + 1, 0);
  for (const Entry& entry : entries_) {
    ++next_[entry.group + 1];
  }
  for (size_t group = 1; group <= groups_.size; ++group) {
    next_[group] += next_[group - 1];
  }
  rows_.resize(entries_.size());
  for (const Entry& entry : entries_) {
    Row& row = rows_[next_[entry.group]++];
    for (const Column column : kGroupColumns) {
      row[column] = groups_[column][entry.group];
    }
    row[Column::kStack] = entry.stack;
    row.hits = entry.hits;
  }
}

}  // namespace plimsoll::store
