// Rows in segment files of this machine.
#pragma once

#include <string>
#include <vector>

#include "store/rows/aggregation.h"
#include "store/rows/segment.h"

namespace plimsoll::store {

// An immutable set of segments. Memory: one block of decoded columns, and the cells.
class LocalRows : public RowSource {
 public:
  static Result<LocalRows> open(const std::vector<std::string>& segment_paths);

  Result<Cells> aggregate(const AggregateRequest& request) const override;
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;

  uint64_t rows() const;

 private:
  std::vector<Segment> segments_;
};

}  // namespace plimsoll::store
