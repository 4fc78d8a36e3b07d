// plimsoll store rollup: sums old profiles by hour.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::cli {

struct StoreRollupOptions {
  std::string data_dir;
  std::string before;  // a time, or an age
  bool is_json = false;
};

// Prints a line for each block.
Status run_store_rollup(const StoreRollupOptions& options);

}  // namespace plimsoll::cli
