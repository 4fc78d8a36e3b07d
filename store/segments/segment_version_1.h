// Segment files of version 1: reads what formats 3 and 4 of the data directory wrote, to convert it, and for nothing else.
//
//   8    "PLIMSEGM"
//   4    version (1)
//   4    columns (6: event, workload, stack, thread, origin, hits)
//   8    rows
//   8    XXH3-64 of the 24 bytes above and the directory
//   for each chunk of 65,536 rows, for each column: smallest value, largest value, offset of the packed values in the file,
//        their size in bytes, XXH3-64 of them (8 bytes each)
//   packed values: value - smallest, in bit_width(largest - smallest) bits each, from the lowest bit of 64-bit words upwards
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/model/row.h"

namespace plimsoll::store {

// All rows of a file that must hold `expected_rows`. kCorrupt, with the file's name, where anything in it is damaged;
// kUnsupported where it is of another version. Any thread; memory: 32 bytes a row.
Result<std::vector<Row>> read_segment_of_version_1(const std::string& path, uint64_t expected_rows);

}  // namespace plimsoll::store
