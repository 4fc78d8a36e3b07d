// What each thread did when within a burst, and for which request: from switches, wake-ups and marks. Pure; any thread.
//
// A thread works for the request of its newest start or switch mark, until that request is stopped by any thread. Before its
// first mark it works for the request that this mark stops, unless that was started within the burst. A thread that makes no marks in the burst works for the request of the thread
// that woke it, until it blocks again; what it waits for is no request's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/bursts/marks/mark_decoder.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

enum class ThreadState : uint8_t {
  kRunning,
  kRunnable,  // woken or preempted, and waits for a CPU
  kBlocked,
};
inline constexpr size_t kThreadStates = 3;
std::string_view name_of(ThreadState state);

// A thread in one state, for one request. Of kBlocked, `waker` ended it: where it waited for a lock, who held it.
struct StateInterval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t request = 0;  // 0: none that is known
  uint32_t thread = 0;   // index of BurstRecording::threads
  uint32_t waker = 0;    // likewise; kNoThread: an interrupt, or the burst ended
  uint16_t cpu = 0;      // of kRunning
  ThreadState state = ThreadState::kRunning;
  bool operator==(const StateInterval&) const = default;
};
inline constexpr uint32_t kNoThread = UINT32_MAX;

// Where a thread ran at a moment, and for which request.
struct JoinedSample {
  int64_t time_ns = 0;
  uint64_t request = 0;  // 0: none that is known
  uint32_t thread = 0;   // index of BurstRecording::threads
  uint32_t stack = 0;    // of BurstRecording::stacks
  bool operator==(const JoinedSample&) const = default;
};

struct JoinedBurst {
  // Each thread's without gaps between them, in the order of their ends. The idle thread and threads of which nothing was seen
  // have none.
  std::vector<StateInterval> intervals;
  std::vector<Mark> marks;  // Mark::tid is the index of a thread; in the order of time
  MarkCounts mark_counts;
  std::vector<JoinedSample> samples;  // in the order of time
  uint64_t contradictions = 0;        // switches that others deny: events were lost
  uint64_t missing_switches =
      0;  // to threads that did something before the next: they ran from then on at least
};

// From on_ns to off_ns. Of a burst that decode_bursts() gave or a recorder: its times do not overflow. Costs what the burst's events
// cost, however many threads its recording has.
JoinedBurst join_burst(const Burst& burst);

}  // namespace plimsoll::traces
