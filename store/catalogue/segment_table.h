// The table `segment` of catalogue.db: which files of rows are visible.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

struct SegmentEntry {
  int64_t id = 0;    // given by insert_segment()
  std::string file;  // in the data directory's segments/; no two segments, past ones included, share a name
  uint64_t rows = 0;
  uint64_t bytes = 0;
  int64_t from_ns = 0;  // wall clock; of the earliest window in it
  int64_t to_ns = 0;    // end of the latest
};

// In order of their IDs.
Result<std::vector<SegmentEntry>> visible_segments(sqlite::Database& catalogue);

// These two are part of the caller's transaction.
Status insert_segment(sqlite::Database& catalogue, const SegmentEntry& segment);
// kConflict where one of `inputs` is not visible any more.
Status replace_segments(sqlite::Database& catalogue, std::span<const SegmentEntry> inputs,
                        const SegmentEntry& output);

}  // namespace plimsoll::store
