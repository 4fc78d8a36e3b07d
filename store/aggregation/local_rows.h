// Rows of a block, in segment files of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/model/aggregation.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// A segment, as a catalogue has it.
struct VisibleSegment {
  std::string path;
  uint64_t rows = 0;
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
};

// An immutable set of segments.
class LocalRows : public RowSource {
 public:
  using Segments = std::vector<std::shared_ptr<const Segment>>;

  // Segments that are `open` already are shared, and not checked again. kNotFound where a file is gone.
  static Result<LocalRows> open(const std::vector<std::string>& segment_paths, const Segments& open = {});

  // Likewise; a file that is damaged is left out, and damage() tells of it. So is one that is gone, if it is known to stay away.
  static Result<LocalRows> open_sound(const std::vector<VisibleSegment>& files, const Segments& open,
                                      bool are_gone_for_good);

  // Time and memory: AggregationRun, and the answer.
  Result<Cells> aggregate(const AggregateRequest& request) const override;
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;
  std::vector<DamagedPart> damage() const override;

  // 0: as many as there are CPUs and rows for.
  void set_threads(unsigned threads) { threads_ = threads; }
  uint64_t rows() const;
  uint64_t size_bytes() const;
  const Segments& segments() const { return segments_; }

 private:
  Segments segments_;
  std::vector<VisibleSegment> files_;      // of open_sound(); of the segments, in their order
  std::vector<DamagedPart> damaged_ = {};  // that could not be opened
  unsigned threads_ = 0;
};

}  // namespace plimsoll::store
