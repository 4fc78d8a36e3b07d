// The requests of a burst: how long each took, and what its threads did meanwhile. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "traces/bursts/joined/thread_states.h"

namespace plimsoll::traces {

struct RequestTimes {
  uint64_t request = 0;
  // Of its start and stop marks; of the burst where one of them is missing.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  bool is_whole = false;                    // started and stopped within the burst, once each
  uint32_t threads = 0;                     // that worked for it
  std::array<int64_t, kThreadStates> ns{};  // by state, summed over threads

  int64_t in(ThreadState state) const { return ns[static_cast<size_t>(state)]; }
};

// In the order in which they begin. Marks from before all CPUs recorded, and from after, count as missing. Without those of an ID that was
// stopped and then started again: they are two requests, of which neither has a length.
std::vector<RequestTimes> request_times(const Burst& burst, const JoinedBurst& joined);

}  // namespace plimsoll::traces
