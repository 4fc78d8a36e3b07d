// `plimsoll store compact`: merging segments by hand.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/compaction/plan/compaction_plan.h"

namespace plimsoll::cli {

struct StoreCompactOptions {
  std::string data_dir;
  uint64_t max_rows = store::CompactionLimits().max_rows;
  bool is_json = false;
};

// Says on standard error, where that is a terminal, what is being merged, and prints a summary. Fails where segments are
// damaged, which it names and leaves; the others are merged all the same.
Status run_store_compact(const StoreCompactOptions& options);

}  // namespace plimsoll::cli
