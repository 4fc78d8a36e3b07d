// Pauses between attempts at what may work later.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include "base/result.h"
#include "base/stop_scope.h"
#include "base/time.h"

namespace plimsoll {

// After attempt 1, 2, ...: each pause is twice the last one, half of it at random, so that servers that failed together do not come again
// together. Ends early, with that error, within 50 ms of when check_stop() fails.
inline Status pause_before_retry(int attempt, int64_t first_pause_ns, std::mt19937_64& random) {
  constexpr int64_t kStepNs = 50 * kNsPerMs;
  const int64_t longest_ns = first_pause_ns << static_cast<unsigned>(attempt - 1);
  int64_t left_ns =
      longest_ns / 2 + static_cast<int64_t>(random() % static_cast<uint64_t>(longest_ns / 2 + 1));
  for (; left_ns > 0; left_ns -= kStepNs) {
    if (const Status stopped = check_stop(); !stopped) {
      return stopped;
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left_ns, kStepNs)));
  }
  return {};
}

}  // namespace plimsoll
