// The rows of segments, block by block.
#pragma once

#include <memory>
#include <vector>

#include "store/rows/aggregation.h"
#include "store/rows/segment.h"

namespace plimsoll::store {

// Shares the segments. Memory: a block.
class SegmentCursor : public RowCursor {
 public:
  SegmentCursor(std::vector<std::shared_ptr<const Segment>> segments, RowFilter filter)
      : segments_(std::move(segments)), filter_(std::move(filter)) {}

  Result<std::span<const Row>> next() override;

 private:
  Status read_block(const Segment& segment);
  void add(uint32_t group, uint32_t stack, uint64_t hits);
  void add_by_row();
  void add_by_stack();

  std::vector<std::shared_ptr<const Segment>> segments_;
  RowFilter filter_;
  size_t segment_ = 0;
  size_t block_ = 0;
  BlockGroups groups_;
  BlockMatrix<uint64_t> matrix_;
  std::vector<Row> rows_;
};

}  // namespace plimsoll::store
