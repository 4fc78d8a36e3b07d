// Intervals whose begin and end are events of a burst: waits for locks, phases, system calls, requests of disks.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/bursts/joined/thread_states.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

struct EventInterval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t value = 0;   // lock, phase, number of a system call, or bytes
  uint32_t thread = 0;  // that began it
  uint16_t cpu = 0;     // of a system call: where it ended; of a request of a disk: where it was issued
  bool operator==(const EventInterval&) const = default;
};

struct MarkedIntervals {
  std::vector<EventInterval> lock_waits;
  std::vector<EventInterval> phases;
};

// In no order. Those that are not ended within the burst end where it does.
MarkedIntervals marked_intervals(const Burst& burst, const JoinedBurst& joined);

// In the order of their ends, each with both its begin and its end. An exit of another number ends the open call of
// its thread, which is left out: events between them were lost.
std::vector<EventInterval> system_calls(const Burst& burst);
std::vector<EventInterval> disk_requests(const Burst& burst);

}  // namespace plimsoll::traces
