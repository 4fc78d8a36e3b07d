// Which segments to merge next, of rows or of spans (which count as rows here). Pure: no file is touched.
//
// Segments are ranked by size: those of fewer than 8 rows, fewer than 64, and so on. Where `min_inputs` of a rank have
// gathered, the neighbours in time among them become one, which ranks higher. So a row is rewritten once a rank, at most
// eight times up to 64 million, and what stays is fewer than `min_inputs` segments a rank, and those that are full.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "store/catalogue/segment_table.h"

namespace plimsoll::store {

struct CompactionLimits {
  // No segment gets more rows. Merging holds the new file in memory: one to three bytes for each of them.
  uint64_t max_rows = uint64_t{64} << 20;
  // As many segments of a rank as make merging them worth while; at least 2.
  size_t min_inputs = 8;
  // At once. Each is mapped while it is read.
  size_t max_inputs = 8;
  // For so long the file of a segment that was merged stays, for readers who have read the list and not opened it yet.
  std::chrono::seconds keep_replaced = std::chrono::seconds(10);

  // For a caller that waits: as few segments as the size permits.
  static CompactionLimits thorough(uint64_t max_rows) { return {max_rows, 2, 64}; }
};

// The segments to merge, at least two, in order of time; none: there is nothing to do. Segments of more than half of
// max_rows are full, and are left alone.
std::vector<SegmentEntry> next_merge(const std::vector<SegmentEntry>& segments,
                                     const CompactionLimits& limits);

}  // namespace plimsoll::store
