// Rows of a block, in segment files of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/rows/aggregation.h"
#include "store/rows/segment.h"

namespace plimsoll::store {

// An immutable set of segments.
class LocalRows : public RowSource {
 public:
  using Segments = std::vector<std::shared_ptr<const Segment>>;

  // Segments that are `open` already are shared, and not checked again. kNotFound where a file is gone.
  static Result<LocalRows> open(const std::vector<std::string>& segment_paths, const Segments& open = {});

  // Time and memory: AggregationRun, and the answer.
  Result<Cells> aggregate(const AggregateRequest& request) const override;
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;

  // 0: as many as there are CPUs.
  void set_threads(unsigned threads) { threads_ = threads; }
  uint64_t rows() const;
  uint64_t size_bytes() const;
  const Segments& segments() const { return segments_; }

 private:
  Segments segments_;
  unsigned threads_ = 0;
};

}  // namespace plimsoll::store
