// Rows as files: segments as compaction leaves them, and text that other databases load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/store/generator.h"

namespace plimsoll::bench {

// A segment is of consecutive origins, and has at most so many rows.
inline constexpr size_t kSegmentRows = 64'000'000;

struct Segments {
  std::vector<std::string> paths;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

// Of the origins 1 to `origins`. `csv`, if it is not empty, gets a line for each row: time, event, machine, job, thread, stack, hits;
// in the order in which profiles arrive.
Result<Segments> write_rows(const RowGenerator& generate, uint32_t origins, const std::string& folder,
                            const std::string& csv = {});

}  // namespace plimsoll::bench
