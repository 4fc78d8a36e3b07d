#include "store/aggregation/local_rows.h"

#include <algorithm>
#include <memory>
#include <span>

#include "store/aggregation/aggregation_run.h"
#include "store/segments/segment_cursor.h"

namespace plimsoll::store {
namespace {

Result<std::shared_ptr<const Segment>> open_segment(const std::string& path,
                                                    const LocalRows::Segments& open) {
  const auto known = std::ranges::find_if(open, [&](const auto& segment) { return segment->path() == path; });
  if (known != open.end()) {
    return *known;
  }
  auto segment = Segment::open(path);
  return segment
             ? Result<std::shared_ptr<const Segment>>(std::make_shared<const Segment>(std::move(*segment)))
             : propagate(segment);
}

}  // namespace

Result<LocalRows> LocalRows::open(const std::vector<std::string>& segment_paths, const Segments& open) {
  LocalRows rows;
  for (const std::string& path : segment_paths) {
    auto segment = open_segment(path, open);
    if (!segment) {
      return propagate(segment);
    }
    rows.segments_.push_back(std::move(*segment));
  }
  return rows;
}

Result<LocalRows> LocalRows::open_sound(const std::vector<VisibleSegment>& files, const Segments& open,
                                        bool are_gone_for_good) {
  LocalRows rows;
  for (const VisibleSegment& file : files) {
    auto segment = open_segment(file.path, open);
    if (segment) {
      rows.segments_.push_back(std::move(*segment));
      rows.files_.push_back(file);
      continue;
    }
    const bool may_come_back = segment.error().code == ErrorCode::kNotFound && !are_gone_for_good;
    if (may_come_back || !is_damage(segment.error())) {
      return propagate(segment);
    }
    rows.damaged_.push_back({file.path, file.rows, file.from_ns, file.to_ns, segment.error().message});
  }
  return rows;
}

std::vector<DamagedPart> LocalRows::damage() const {
  std::vector<DamagedPart> damaged = damaged_;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (segments_[i]->is_damaged()) {
      const VisibleSegment& file = files_[i];
      damaged.push_back({file.path, file.rows, file.from_ns, file.to_ns, segments_[i]->damage()});
    }
  }
  return damaged;
}

Result<Cells> LocalRows::aggregate(const AggregateRequest& request) const {
  const SelectedChunks selected = select_chunks(segments_, request.filter);
  const auto space = CellSpace::of(request, selected.last_ids);
  if (!space) {
    return propagate(space);
  }
  AggregationRun run(*space, request.max_sums, selected.rows, threads_);
  // Borrowed: it is there for as long as this call.
  const Status added = run.add(std::span(&selected, 1), [&](size_t /*block*/) {
    return std::shared_ptr<const AggregateRequest>(std::shared_ptr<void>(), &request);
  });
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
