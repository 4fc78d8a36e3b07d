// Threads that hand a byte to and fro, a pair on each CPU: the events of a switch and a wake-up in each
// direction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace plimsoll::bench {

void stay_on(int cpu);

struct HandOverRun {
  std::vector<int> cpus;
  int64_t duration_ns = 0;
  int64_t turn_ns = 0;     // at least; the first thread computes meanwhile
  bool is_marked = false;  // a mark per turn, always
};

// Turns of all pairs.
Result<uint64_t> hand_over(const HandOverRun& run);

}  // namespace plimsoll::bench
