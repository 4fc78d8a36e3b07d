// An aggregation while it runs: over the blocks, on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/aggregation/cell_sums.h"
#include "store/model/aggregation.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

struct ChunkPlace {
  const Segment* segment;
  size_t chunk;

  uint64_t rows() const { return segment->rows_in_chunk(chunk); }
};

// Chunks that may hold selected rows, of segments that are not known to be damaged.
struct SelectedChunks {
  std::vector<ChunkPlace> chunks;
  uint64_t rows = 0;
  ByColumn<uint32_t> last_ids = {};  // the largest in them, or larger ones
};

SelectedChunks select_chunks(std::span<const std::shared_ptr<const Segment>> segments,
                             const RowFilter& filter);

// On as many threads as there are CPUs, where there are rows for them, or on as many as asked for; with the same number of threads sums are
// the same to the last bit.
// Memory for each: a decoded chunk (3 MiB) and the sums, at most 128 MiB or 8 bytes for each of max_sums with 35 bytes for each cell.
class AggregationRun {
 public:
  // `expected_rows`: about how many rows are to come. `threads`: 0: as many as there are CPUs and rows for. Borrows the space.
  AggregationRun(const CellSpace& space, uint64_t max_sums, uint64_t expected_rows, unsigned threads);

  // The request of a block, by its place: with the groups that the space has, by the block's dictionary IDs. Called by any thread, once for
  // each block that a thread adds some of.
  using RequestOf = std::function<std::shared_ptr<const AggregateRequest>(size_t block)>;

  // Each thread adds as many rows, of blocks that follow one another.
  Status add(std::span<const SelectedChunks> blocks, const RequestOf& request_of);

  Result<Cells> cells();

 private:
  const CellSpace& space_;
  const uint64_t max_sums_;
  const uint64_t expected_rows_;
  const unsigned threads_;
  std::vector<std::unique_ptr<CellSums>> sums_;  // by thread; absent: it has not had anything to do yet
};

}  // namespace plimsoll::store
