// What the kernel says of threads while switches are recorded: plain data, any thread.
#pragma once

#include <cstdint>

namespace plimsoll::waits {

struct ThreadId {
  uint32_t pid = 0;
  uint32_t tid = 0;  // 0: the idle thread of a CPU, or one outside of this PID namespace

  bool operator==(const ThreadId&) const = default;
};

// The kernel names a thread so that has ended and is about to leave its CPU.
inline constexpr uint32_t kEndedTid = UINT32_MAX;

// Whether time can be accounted to it.
inline bool is_known(ThreadId thread) {
  return thread.tid != 0 && thread.tid != kEndedTid;
}

enum class ThreadEvent : uint8_t {
  kSwitch,     // `thread` leaves the CPU to `other`
  kWake,       // `other` can run again
  kLockBegin,  // `thread` begins to wait for a kernel lock
  kLockEnd,    // it has waited
  kLost,       // records of this CPU were lost before this one
};

struct ThreadRecord {
  int64_t time_ns = 0;
  ThreadEvent event = ThreadEvent::kSwitch;
  bool is_preempted = false;  // of kSwitch: `thread` could have run on
  uint32_t cpu = 0;
  ThreadId thread = {};
  ThreadId other = {};
  uint64_t lost = 0;
};

// What a sample was taken of, by the numbers of the profile that is being built.
struct SampledStack {
  uint32_t thread = 0;
  uint32_t stack = 0;

  bool operator==(const SampledStack&) const = default;
};

// How long a thread waited, within one stretch of recorded time.
struct WaitPart {
  ThreadId thread = {};
  uint64_t time_ns = 0;      // times the weight of the stretch
  uint64_t runnable_ns = 0;  // of it: when the thread could have run
  uint64_t lasted_ns = 0;    // the whole wait so far, unweighted, as far as it is known
  bool has_stack = false;
  SampledStack sampled = {};
};

}  // namespace plimsoll::waits
