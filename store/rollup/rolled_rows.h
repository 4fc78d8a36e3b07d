// The rows of a block on their way into the segments of a rolled-up one.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/catalogue/segment_table.h"
#include "store/model/row.h"
#include "store/rollup/hours.h"
#include "store/rollup/origin_hits.h"
#include "store/segments/row_order.h"
#include "store/segments/row_sorter.h"

namespace plimsoll::store {

// Rows of a block have the IDs of the rolled-up one afterwards. Those of the same key become one; they come from anywhere in the block, so
// they are sorted (RowSorter). One thread.
class RolledRows {
 public:
  // Borrows `hours`. `workload_of`: the new ID of each workload; `order` knows the new workloads. Files go to `segments_path`.
  RolledRows(const Hours& hours, std::vector<uint32_t> workload_of, RowOrder order,
             std::string segments_path);

  // Of profiles and workloads that are known.
  Status add(std::span<const Row> rows);

  // Once. What is to stand in the table segment. kCorrupt where an hour has other hits than its profiles came with.
  Result<std::vector<SegmentEntry>> finish(const std::stop_token& stop);

 private:
  const Hours& hours_;
  const std::vector<uint32_t> workload_of_;
  RowSorter sorter_;
  OriginHits hits_;
};

}  // namespace plimsoll::store
