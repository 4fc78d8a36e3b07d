#include "store/rows/local_rows.h"

#include <algorithm>

#include "store/rows/aggregation_run.h"
#include "store/rows/segment_cursor.h"

namespace plimsoll::store {
Result<LocalRows> LocalRows::open(const std::vector<std::string>& segment_paths, const Segments& open) {
  LocalRows rows;
  for (const std::string& path : segment_paths) {
    const auto known =
        std::ranges::find_if(open, [&](const auto& segment) { return segment->path() == path; });
    if (known != open.end()) {
      rows.segments_.push_back(*known);
      continue;
    }
    auto segment = Segment::open(path);
    if (!segment) {
      return propagate(segment);
    }
    rows.segments_.push_back(std::make_shared<const Segment>(std::move(*segment)));
  }
  return rows;
}

Result<Cells> LocalRows::aggregate(const AggregateRequest& request) const {
  const SelectedChunks selected = select_chunks(segments_, request.filter);
  const auto space = CellSpace::of(request, selected.max_stack);
  if (!space) {
    return propagate(space);
  }
  AggregationRun run(*space, request.max_sums, selected.rows, threads_);
  const Status added = run.add(selected, request);
  return added ? run.cells() : propagate(added);
}

std::unique_ptr<RowCursor> LocalRows::scan(RowFilter filter) const {
  return std::make_unique<SegmentCursor>(segments_, std::move(filter));
}

uint64_t LocalRows::rows() const {
  uint64_t total = 0;
  for (const auto& segment : segments_) {
    total += segment->rows();
  }
  return total;
}

uint64_t LocalRows::size_bytes() const {
  uint64_t total = 0;
  for (const auto& segment : segments_) {
    total += segment->size_bytes();
  }
  return total;
}

}  // namespace plimsoll::store
