// `plimsoll bursts clocks`: how far clocks of several machines agree, by calls between them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bursts_recordings.h"

namespace plimsoll::cli {

struct BurstsClocksOptions {
  BurstsInput input;
  std::vector<std::string> spans;
  bool is_json = false;
};

Status run_bursts_clocks(const BurstsClocksOptions& options);

}  // namespace plimsoll::cli
