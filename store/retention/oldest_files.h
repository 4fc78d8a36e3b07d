// Files that can be made again: what has not been used for the longest time goes first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::store {

struct RemovedFiles {
  int64_t files = 0;
  int64_t bytes = 0;
};

// Removes files whose names end in `suffix` below a folder, by the times of their last change, until the others take no more than `max_bytes`.
// A folder that is not there has none. Costs a stat() for each file.
Result<RemovedFiles> remove_oldest_files(const std::string& folder, std::string_view suffix,
                                         int64_t max_bytes);

}  // namespace plimsoll::store
