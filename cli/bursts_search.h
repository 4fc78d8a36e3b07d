// `plimsoll bursts search`: intervals of bursts that fit a pattern in time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bursts_recordings.h"

namespace plimsoll::cli {

struct BurstsSearchOptions {
  std::string query;
  BurstsInput input;
  std::vector<std::string> spans;
  uint32_t limit = 50;
  bool is_json = false;
};

Status run_bursts_search(const BurstsSearchOptions& options);

}  // namespace plimsoll::cli
