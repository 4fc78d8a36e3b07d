// Rows in any order into segments that are sorted as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/catalogue/segment_table.h"
#include "store/model/dictionaries.h"
#include "store/model/row.h"
#include "store/segments/row_order.h"

namespace plimsoll::store {

struct RowSorterLimits {
  size_t rows_in_memory = 4'000'000;
  // A merge keeps its output in memory, at one to three bytes per row (compaction has the same limit).
  uint64_t rows_of_segment = uint64_t{1} << 26U;
  size_t runs_of_merge = 64;
};

// Rows are sorted in memory, 4 million at a time, into runs: files, which are then merged. Rows of one key become one row, with the sum of
// their hits. Up to 67 million rows become one segment, more become several, each of which has a key once. Memory: 300 MiB, and a merged
// file. One thread.
class RowSorter {
 public:
  // The entry of an origin that a row has.
  using OriginOf = std::function<const OriginEntry&(uint32_t id)>;

  // `order` knows all workloads of the rows. Files go to `segments_path`, which exists and has none.
  RowSorter(RowOrder order, OriginOf origin_of, std::string segments_path,
            const RowSorterLimits& limits = RowSorterLimits())
      : order_(std::move(order)),
        origin_of_(std::move(origin_of)),
        segments_path_(std::move(segments_path)),
        limits_(limits) {}

  // Writes a run where the memory is full.
  Status add(const Row& row) {
    rows_.push_back(row);
    return rows_.size() < limits_.rows_in_memory ? Status() : make_room();
  }

  // Once. The segments, durable, as the table `segment` records them. kUnavailable where `stop` is requested.
  Result<std::vector<SegmentEntry>> finish(const std::stop_token& stop);

 private:
  struct Run {
    std::string path;
    uint64_t rows = 0;
  };

  Status make_room();
  void shrink();
  Status write_run();
  Result<SegmentEntry> merge(std::span<const Run> runs, const std::stop_token& stop);
  std::string next_path();

  const RowOrder order_;
  const OriginOf origin_of_;
  const std::string segments_path_;
  const RowSorterLimits limits_;
  std::vector<Row> rows_;
  std::vector<Run> runs_;
  uint64_t files_ = 0;
};

}  // namespace plimsoll::store
