#include "store/segments/segment_merge.h"

#include <algorithm>

namespace plimsoll::store {

SegmentMerge::SegmentMerge(const std::vector<std::shared_ptr<const Segment>>& inputs, const RowOrder& order)
    : order_(order) {
  for (const auto& input : inputs) {
    inputs_.emplace_back(input, order);
  }
}

Result<MergedSegment> SegmentMerge::run(const std::stop_token& stop) {
  std::vector<size_t> heap;  // of the inputs that have rows, the one with the smallest first
  const auto is_later = [&](size_t a, size_t b) { return order_(inputs_[b].row(), inputs_[a].row()); };
  const auto push = [&](size_t input) {
    if (!inputs_[input].at_end()) {
      heap.push_back(input);
      std::ranges::push_heap(heap, is_later);
    }
  };
  for (size_t input = 0; input < inputs_.size(); ++input) {
    if (const Status started = advance(input); !started) {
      return propagate(started);
    }
    push(input);
  }
  while (!heap.empty() && !stop.stop_requested()) {
    std::ranges::pop_heap(heap, is_later);
    const size_t input = heap.back();
    heap.pop_back();
    const SortedRows* next = heap.empty() ? nullptr : &inputs_[heap.front()];
    if (const Status written = write_run(input, next); !written) {
      return propagate(written);
    }
    push(input);
  }
  add({});
  const uint64_t rows = writer_.rows();
  return MergedSegment{rows, writer_.finish()};
}

Status SegmentMerge::advance(size_t input) {
  Status advanced = inputs_[input].advance();
  if (!advanced) {
    failed_input_ = input;
  }
  return advanced;
}

// Segments of different times take turns by long runs: an input goes on as long as its rows come before the next one's, at most
// for a chunk, so that a request to stop the merge need not wait.
Status SegmentMerge::write_run(size_t input, const SortedRows* next) {
  const SortedRows& rows = inputs_[input];
  for (size_t written = 0; written < kChunkRows; ++written) {
    add(rows.row());
    if (Status advanced = advance(input); !advanced) {
      return advanced;
    }
    if (rows.at_end() || (next != nullptr && order_(next->row(), rows.row()))) {
      break;
    }
  }
  return {};
}

void SegmentMerge::add(const Row& row) {
  if (sum_.hits > 0 && sum_.same_key(row)) {
    sum_.hits += row.hits;
    return;
  }
  if (sum_.hits > 0) {
    writer_.add(sum_);
  }
  sum_ = row;
}

}  // namespace plimsoll::store
