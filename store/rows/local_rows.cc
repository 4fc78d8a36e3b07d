#include "store/rows/local_rows.h"

#include <algorithm>

#include "base/run_both.h"
#include "store/rows/chunk_aggregator.h"
#include "store/rows/segment_cursor.h"
#include "store/rows/zone_filter.h"

namespace plimsoll::store {
namespace {

// Starting a thread takes as long as aggregating this many rows.
constexpr uint64_t kRowsPerThread = 500'000;

struct ChunkPlace {
  const Segment* segment;
  size_t chunk;

  uint64_t rows() const { return segment->rows_in_chunk(chunk); }
};

// Chunks that may hold selected rows.
struct Work {
  std::vector<ChunkPlace> chunks;
  uint64_t rows = 0;
  uint32_t max_stack = 0;
};

Work select_chunks(const std::vector<std::shared_ptr<const Segment>>& segments, const RowFilter& filter) {
  const ZoneFilter zone_filter(filter);
  Work work;
  for (const auto& segment : segments) {
    for (size_t chunk = 0; chunk < segment->chunks(); ++chunk) {
      if (zone_filter.may_hold(segment->zones(chunk))) {
        work.chunks.push_back({segment.get(), chunk});
        work.rows += segment->rows_in_chunk(chunk);
        work.max_stack = std::max(work.max_stack, segment->zones(chunk).stack.max);
      }
    }
  }
  return work;
}

// Parts of about as many rows each, in order: the same chunks for the same number of threads, so that sums come out the same.
std::vector<std::span<const ChunkPlace>> split(const Work& work, size_t parts) {
  std::vector<std::span<const ChunkPlace>> split;
  size_t from = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < work.chunks.size(); ++i) {
    rows += work.chunks[i].rows();
    if (rows * parts >= work.rows * (split.size() + 1)) {
      split.push_back(std::span(work.chunks).subspan(from, i + 1 - from));
      from = i + 1;
    }
  }
  return split;
}

Status add_all(std::span<const ChunkPlace> chunks, ChunkAggregator& aggregator) {
  for (const ChunkPlace& place : chunks) {
    if (Status added = aggregator.add(*place.segment, place.chunk); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace

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
  const Work work = select_chunks(segments_, request.filter);
  const auto space = CellSpace::of(request, work.max_stack);
  if (!space) {
    return propagate(space);
  }
  const unsigned cpus = threads_ != 0 ? threads_ : std::max(1U, std::thread::hardware_concurrency());
  const auto threads = std::clamp<uint64_t>(work.rows / kRowsPerThread, 1, cpus);
  const auto parts = split(work, threads);
  std::vector<ChunkAggregator> aggregators;
  for (size_t i = 0; i < parts.size(); ++i) {
    aggregators.emplace_back(request, *space, work.rows);
  }
  std::vector<Status> done(parts.size());
  run_all(parts.size(), [&](size_t i) { done[i] = add_all(parts[i], aggregators[i]); });
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!done[i]) {
      return propagate(done[i]);
    }
    if (i > 0 && !aggregators[0].sums().add(aggregators[i].sums())) {
      return too_many_sums(request.max_sums);
    }
  }
  return parts.empty() ? CellSums(*space, request.max_sums, 0).cells() : aggregators[0].sums().cells();
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
