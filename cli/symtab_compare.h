// `plimsoll symtab verify --libdw FILE`: whether both readers of debug information agree on a binary.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cli/symbol_tables.h"

namespace plimsoll::cli {

struct ReaderComparisonOptions {
  TableSource source;
  uint64_t addresses = 10'000;
  uint64_t seed = 1;
};

// Makes a table with each reader alone, and prints how many of random addresses of code have equal chains (function, file and line
// of each frame), with the first that differ. Fails where fewer than 99.9 % are equal, or one of the readers reads no lines.
Status run_reader_comparison(const ReaderComparisonOptions& options);

}  // namespace plimsoll::cli
