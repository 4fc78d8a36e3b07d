// What the library keeps for each thread. Initial-exec: reading it allocates nothing and takes no lock, also in signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "appprof/appprof_c.h"
#include "appprof/profile.h"
#include "appprof/sampling.h"

namespace plimsoll::appprof {

// A sample of the heap.
struct HeapSample {
  size_t bytes = 0;       // 0: there is none
  uint8_t doublings = 0;  // of its period (sample_limit.h)
};

struct ThreadState {
  int32_t thread_id = 0;                    // the kernel's; 0: not asked for yet
  plimsoll_appprof_label* label = nullptr;  // innermost scope
  // In code of ours: waits and allocations there are not the application's.
  bool is_inside = false;
  // Whose stack tcmalloc takes next (heap.cc).
  HeapSample heap_sample;
  RandomBits heap_choices{0};
  bool are_heap_choices_seeded = false;
  Countdown lock_wait;
  Countdown condition_wait;
  uint64_t request = 0;  // of its newest start or switch mark; 0: none
};

[[gnu::tls_model("initial-exec")]] inline constinit thread_local ThreadState t_state;

// For random numbers of a thread's own, by where it keeps them.
inline uint64_t seed_for_thread(const void* kept_at) noexcept {
  return static_cast<uint64_t>(monotonic_ns()) ^ reinterpret_cast<uintptr_t>(kept_at) << 20;
}

// Marks the thread as in code of ours.
class Inside {
 public:
  Inside() noexcept : was_inside_(t_state.is_inside) { t_state.is_inside = true; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { t_state.is_inside = was_inside_; }

 private:
  const bool was_inside_;
};

}  // namespace plimsoll::appprof
