// Who held a lock that others waited for: the thread that releases it, as Go's mutex profile has it.
//
// Waits are sampled by a Poisson process over waited nanoseconds (sampling.h), so a waiter knows when it begins at which moment it
// becomes a sample. It leaves a note of that in a table; who releases the lock after that moment held it then, and leaves its stack
// there. Each sampled wait is thus attributed to who held the lock at one moment of the wait, drawn uniformly: totals by holder are as
// unbiased as those by waiter.
//
// No lock, no allocation, no loop that waits for another thread. A release costs one load while no thread waits for a lock, and else
// four more where there is no note for its lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::appprof {

constexpr size_t kWaitersOfPlace = 4;
constexpr size_t kWatchedLocks = 64 * kWaitersOfPlace;
constexpr int kNotWatched = -1;

// The lock that a thread waits for, a few for each hash of a lock. Apart from all else, so that releases look into 2 KiB.
[[gnu::visibility("hidden")]] extern std::atomic<const void*> g_watched_locks[kWatchedLocks];
// How many notes there are. In a cache line of its own: each release reads it.
[[gnu::visibility("hidden")]] extern std::atomic<uint32_t> g_notes_left;

inline size_t first_place_of_lock(const void* lock) noexcept {
  return ((reinterpret_cast<uintptr_t>(lock) * 0x9E3779B97F4A7C15) >> 58) * kWaitersOfPlace;
}

// The calling thread begins to wait, and is a sample from `sample_at_ns` on (monotonic). A place, or kNotWatched: kWaitersOfPlace
// threads wait for this lock, or for others of the same hash, and the holder will not be known.
int watch_lock(const void* lock, int64_t sample_at_ns) noexcept;

struct Holder {
  size_t depth = 0;  // of its stack; 0: unknown
  uint32_t labels = 0;
};
// The wait is over, whether it was for the lock or not. Once for each watch_lock().
Holder unwatch_lock(int place, std::span<uintptr_t> frames) noexcept;

// For note_release(): there is a note in this place.
void note_holder(const void* lock, size_t place, uintptr_t caller) noexcept;

// May miss a note that another thread leaves at the same time: its holder stays unknown, and totals are as they were.
inline bool are_locks_watched() noexcept {
  return g_notes_left.load(std::memory_order_relaxed) != 0;
}

// Before the calling thread releases a lock that it has; `caller` is the return address of the call.
[[gnu::always_inline]] inline void note_release(const void* lock, const void* caller) noexcept {
  if (!are_locks_watched()) [[likely]] {
    return;
  }
  const size_t first = first_place_of_lock(lock);
  for (size_t place = first; place < first + kWaitersOfPlace; ++place) {
    if (g_watched_locks[place].load(std::memory_order_relaxed) == lock) [[unlikely]] {
      note_holder(lock, place, reinterpret_cast<uintptr_t>(caller));
    }
  }
}

// In a child that has just been forked: nobody waits there.
void reset_holders_in_child() noexcept;

}  // namespace plimsoll::appprof
