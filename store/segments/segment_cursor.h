// The rows of segments, chunk by chunk: those of each segment are in the order of a RowOrder, if it keeps its promise.
#pragma once

#include <memory>
#include <vector>

#include "store/model/aggregation.h"
#include "store/segments/segment.h"
#include "store/segments/zone_filter.h"

namespace plimsoll::store {

// Leaves out segments that are known to be damaged when it gets to them. Shares the segments. Memory: a chunk (5 MiB).
class SegmentCursor : public RowCursor {
 public:
  SegmentCursor(std::vector<std::shared_ptr<const Segment>> segments, RowFilter filter)
      : segments_(std::move(segments)), filter_(std::move(filter)), zone_filter_(filter_) {
    for (const Column column : kColumns) {
      flags_[column] = &filter_[column].flags();
    }
  }

  Result<std::span<const Row>> next() override;

 private:
  struct Entry {
    uint32_t group;
    uint32_t stack;
    uint64_t hits;
  };

  Status read_chunk(const Segment& segment);
  void select_groups();
  void add(const Entry& entry);
  void collect_by_row();
  void collect_by_stack();
  void order_by_group();

  std::vector<std::shared_ptr<const Segment>> segments_;
  RowFilter filter_;
  ZoneFilter zone_filter_;
  ByColumn<const std::vector<bool>*> flags_;  // of the filter's sets, which keep them
  size_t segment_ = 0;
  size_t chunk_ = 0;
  ChunkGroups groups_;
  ChunkMatrix<uint64_t> matrix_;
  std::vector<uint8_t> is_selected_;  // by group
  std::vector<Entry> entries_;        // of the chunk, as it has them
  std::vector<uint32_t> next_;        // by group: where its next row goes
  std::vector<Row> rows_;
};

}  // namespace plimsoll::store
