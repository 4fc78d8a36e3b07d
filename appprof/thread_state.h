// What the library keeps for each thread. Initial-exec: reading it allocates nothing and takes no lock, also in signal handlers.
#pragma once

#include <cstddef>

#include "appprof/appprof_c.h"
#include "appprof/sampling.h"

namespace plimsoll::appprof {

struct ThreadState {
  plimsoll_appprof_label* label = nullptr;  // innermost scope
  // In code of ours: waits and allocations there are not the application's.
  bool is_inside = false;
  // Of a sample of the heap whose stack tcmalloc takes next (heap.cc); 0: there is none.
  size_t sampled_bytes = 0;
  Countdown lock_wait;
  Countdown condition_wait;
};

[[gnu::tls_model("initial-exec")]] inline constinit thread_local ThreadState t_state;

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
