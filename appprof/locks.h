// Waits for locks and for condition variables, sampled in proportion to their length.
//
// pthread_mutex_lock and its like are replaced (lock_calls.cc): while sampling is on, a call first tries the lock, and only where
// another thread has it takes the time of the wait. Of the waits, a Poisson process over the waited nanoseconds chooses samples:
// a wait of w ns is one with p = 1 - exp(-w / period), and stands for 1/p waits and w/p ns at its stack and labels; and, in a profile of
// its own, at those of who held the lock (holders.h). Where many threads wait, the period is longer (sample_limit.h): the stacks are
// taken while the lock is held.
//
// Waits for condition variables are another kind: a thread that waits for work is not contended. Go keeps them apart, too: its block
// profile has them, its mutex profile does not. A wait ends when the mutex is taken back, which the C library does within the call:
// a sample's stack is taken with it held. Pools of threads wait all the time, so the period is longer by a factor: whatever
// wakes them, each thread takes one stack per period at most on average.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "appprof/profile.h"
#include "appprof/sample_limit.h"

namespace plimsoll::appprof {

constexpr uint64_t kConditionPeriods = 1000;  // the period of waits for condition variables, in that of locks

// Returns what keeps it from working; empty: nothing. Once started, counts go on from where they were.
std::string start_locks(uint64_t period_ns, uint32_t max_samples_per_second = kNoSampleLimit);
void stop_locks() noexcept;
// Read at each lock: inline and hidden, so that it costs a load.
[[gnu::visibility("hidden")]] extern constinit std::atomic<bool> g_locks_on;
inline bool are_locks_on() noexcept {
  return g_locks_on.load(std::memory_order_relaxed);
}
// In a child that has just been forked: off, and nothing counted, so that what the parent counted is not counted twice.
void reset_locks_in_child() noexcept;

// A wait of the calling thread for a lock. No lock of ours, no allocation.
struct LockWait {
  int64_t began_ns = 0;
  int place = 0;         // of watch_lock()
  double period_ns = 0;  // that it becomes a sample by
};
LockWait begin_wait(const void* lock) noexcept;
// It has or had the lock now; `caller` is the return address of the call. `counts` is false where it did not wait after all.
void end_wait(const LockWait& wait, bool counts, uintptr_t caller) noexcept;

// A wait of the calling thread for a condition variable is over.
void record_condition_wait(int64_t wait_ns, uintptr_t caller) noexcept;

// All since the first start: contentions/count, delay/nanoseconds. By the stacks of those that waited for locks; of those that held
// them; of those that waited for condition variables.
Profile lock_profile();
Profile holder_profile();
Profile condition_profile();

// `--- contention:` text of such a profile.
std::string contention_text(const Profile& profile);

// Whether pthread_mutex_lock() looks for waits (lock_calls.cc): with start_locks() and stop_locks(), which call it.
void count_lock_calls(bool are_on) noexcept;

// Empty, or why waits cannot be seen: calls of the application do not arrive here, or a library behind this one would see half of them.
std::string why_no_lock_calls();

}  // namespace plimsoll::appprof
