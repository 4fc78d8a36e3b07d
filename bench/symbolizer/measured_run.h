// What a program takes from its start to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::bench {

struct RunCost {
  double cpu_s = 0;
  double wall_s = 0;
  // The most anonymous memory (RssAnon) that was seen at once, looked at each millisecond: mapped files are not in it.
  uint64_t peak_anonymous_bytes = 0;
};

Result<RunCost> run_measured(const std::vector<std::string>& argv);

}  // namespace plimsoll::bench
