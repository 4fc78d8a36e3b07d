#include "store/aggregation/aggregation_run.h"

#include <algorithm>
#include <thread>

#include "base/run_both.h"
#include "base/stop_scope.h"
#include "store/aggregation/chunk_aggregator.h"
#include "store/segments/zone_filter.h"

namespace plimsoll::store {
namespace {

// Starting a thread takes as long as aggregating this many rows.
constexpr uint64_t kRowsPerThread = 500'000;

// Parts of about as many rows each, in order: the same chunks for the same number of threads, so that sums come out the same.
std::vector<std::span<const ChunkPlace>> split(const SelectedChunks& selected, size_t parts) {
  std::vector<std::span<const ChunkPlace>> split;
  size_t from = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < selected.chunks.size(); ++i) {
    rows += selected.chunks[i].rows();
    if (rows * parts >= selected.rows * (split.size() + 1)) {
      split.push_back(std::span(selected.chunks).subspan(from, i + 1 - from));
      from = i + 1;
    }
  }
  return split;
}

Status add_all(std::span<const ChunkPlace> chunks, ChunkAggregator& aggregator) {
  for (const ChunkPlace& place : chunks) {
    if (Status stopped = check_stop(); !stopped) {
      return stopped;
    }
    if (Status added = aggregator.add(*place.segment, place.chunk); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace

SelectedChunks select_chunks(std::span<const std::shared_ptr<const Segment>> segments,
                             const RowFilter& filter) {
  const ZoneFilter zone_filter(filter);
  SelectedChunks selected;
  for (const auto& segment : segments) {
    if (segment->is_damaged()) {
      continue;
    }
    for (size_t chunk = 0; chunk < segment->chunks(); ++chunk) {
      if (zone_filter.may_hold(segment->zones(chunk))) {
        selected.chunks.push_back({segment.get(), chunk});
        selected.rows += segment->rows_in_chunk(chunk);
        selected.max_stack = std::max(selected.max_stack, segment->zones(chunk)[Column::kStack].max);
      }
    }
  }
  return selected;
}

AggregationRun::AggregationRun(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows,
                               unsigned threads)
    : space_(space),
      max_sums_(max_sums),
      expected_rows_(expected_rows),
      threads_(threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency())) {}

Status AggregationRun::add(const SelectedChunks& selected, const AggregateRequest& request) {
  const auto threads = std::clamp<uint64_t>(selected.rows / kRowsPerThread, 1, threads_);
  const auto parts = split(selected, threads);
  sums_.resize(std::max(sums_.size(), parts.size()));
  std::vector<ChunkAggregator> aggregators;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (sums_[i] == nullptr) {
      sums_[i] = std::make_unique<CellSums>(space_, max_sums_, expected_rows_);
    }
    aggregators.emplace_back(request, space_, *sums_[i]);
  }
  std::vector<Status> done(parts.size());
  run_all(parts.size(), [&](size_t i) { done[i] = add_all(parts[i], aggregators[i]); });
  const auto failed = std::ranges::find_if(done, [](const Status& status) { return !status; });
  return failed == done.end() ? Status() : propagate(*failed);
}

Result<Cells> AggregationRun::cells() {
  if (sums_.empty()) {
    return CellSums(space_, max_sums_, 0).cells();
  }
  for (size_t i = 1; i < sums_.size(); ++i) {
    if (!sums_[0]->add(*sums_[i])) {
      return too_many_sums(max_sums_);
    }
  }
  return sums_[0]->cells();
}

}  // namespace plimsoll::store
