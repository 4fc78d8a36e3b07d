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

// Some chunks of one block.
struct ChunksOfBlock {
  size_t block;
  std::span<const ChunkPlace> chunks;
};

// Parts of about as many rows each, in order: the same chunks for the same number of threads, so that sums come out the same.
std::vector<std::vector<ChunksOfBlock>> split(std::span<const SelectedChunks> blocks, uint64_t all_rows,
                                              size_t parts) {
  std::vector<std::vector<ChunksOfBlock>> split(1);
  uint64_t rows = 0;
  for (size_t block = 0; block < blocks.size(); ++block) {
    const std::span<const ChunkPlace> chunks(blocks[block].chunks);
    size_t from = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      rows += chunks[i].rows();
      const bool is_full = rows * parts >= all_rows * split.size();
      if (is_full || i + 1 == chunks.size()) {
        split.back().push_back({block, chunks.subspan(from, i + 1 - from)});
        from = i + 1;
      }
      if (is_full) {
        split.emplace_back();
      }
    }
  }
  std::erase_if(split, [](const auto& part) { return part.empty(); });
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
        for (const Column column : kColumns) {
          uint32_t& last_id = selected.last_ids[column];
          last_id = std::max(last_id, segment->zones(chunk)[column].max);
        }
      }
    }
  }
  return selected;
}

AggregationRun::AggregationRun(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows,
                               unsigned threads)
    : space_(space), max_sums_(max_sums), expected_rows_(expected_rows), threads_(threads) {}

Status AggregationRun::add(std::span<const SelectedChunks> blocks, const RequestOf& request_of) {
  uint64_t rows = 0;
  for (const SelectedChunks& block : blocks) {
    rows += block.rows;
  }
  const uint64_t cpus = std::max(1U, std::thread::hardware_concurrency());
  const uint64_t threads = threads_ != 0 ? threads_ : std::clamp<uint64_t>(rows / kRowsPerThread, 1, cpus);
  const auto parts = split(blocks, rows, threads);
  sums_.resize(std::max(sums_.size(), parts.size()));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (sums_[i] == nullptr) {
      sums_[i] = std::make_unique<CellSums>(space_, max_sums_, expected_rows_);
    }
  }
  std::vector<Status> done(parts.size());
  run_all(parts.size(), [&](size_t i) {
    for (size_t of_part = 0; of_part < parts[i].size() && done[i]; ++of_part) {
      const ChunksOfBlock& some = parts[i][of_part];
      const auto request = request_of(some.block);
      ChunkAggregator aggregator(*request, space_, *sums_[i]);
      done[i] = add_all(some.chunks, aggregator);
    }
  });
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
