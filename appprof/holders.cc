#include "appprof/holders.h"

#include <errno.h>

#include <algorithm>

#include "appprof/labels.h"
#include "appprof/profile.h"
#include "appprof/thread_state.h"
#include "appprof/unwind.h"

namespace plimsoll::appprof {

constinit std::atomic<const void*> g_watched_locks[kWatchedLocks]{};
alignas(64) constinit std::atomic<uint32_t> g_notes_left{0};

namespace {

// kFree -> kWaiting by the waiter, -> kTaking -> kTaken by who releases. The waiter ends it with one exchange; where that finds
// kTaking, who releases sets it free.
enum State : uint32_t { kFree, kClaimed, kWaiting, kTaking, kTaken, kAbandoned };

struct Note {
  std::atomic<int64_t> sample_at_ns{0};
  std::atomic<uint32_t> state{kFree};
  uint32_t labels = 0;
  size_t depth = 0;
  uintptr_t frames[kMaxFrames]{};
};

constinit Note g_notes[kWatchedLocks];

}  // namespace

int watch_lock(const void* lock, int64_t sample_at_ns) noexcept {
  const size_t first = first_place_of_lock(lock);
  for (size_t place = first; place < first + kWaitersOfPlace; ++place) {
    Note& note = g_notes[place];
    uint32_t expected = kFree;
    if (note.state.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) {
      note.sample_at_ns.store(sample_at_ns, std::memory_order_relaxed);
      g_watched_locks[place].store(lock, std::memory_order_relaxed);
      note.state.store(kWaiting, std::memory_order_release);
      g_notes_left.fetch_add(1, std::memory_order_relaxed);
      return static_cast<int>(place);
    }
  }
  return kNotWatched;
}

Holder unwatch_lock(int place, std::span<uintptr_t> frames) noexcept {
  if (place == kNotWatched) {
    return {};
  }
  Note& note = g_notes[place];
  g_notes_left.fetch_sub(1, std::memory_order_relaxed);
  g_watched_locks[place].store(nullptr, std::memory_order_relaxed);
  Holder holder;
  const uint32_t found = note.state.exchange(kAbandoned, std::memory_order_acq_rel);
  if (found == kTaking) {
    return holder;  // the wait ended otherwise, while the stack is taken
  }
  if (found == kTaken) {
    holder = {std::min(note.depth, frames.size()), note.labels};
    std::copy_n(note.frames, holder.depth, frames.begin());
  }
  note.state.store(kFree, std::memory_order_release);
  return holder;
}

void note_holder(const void* lock, size_t place, uintptr_t caller) noexcept {
  Note& note = g_notes[place];
  if (t_state.is_inside || monotonic_ns() < note.sample_at_ns.load(std::memory_order_relaxed)) {
    return;
  }
  uint32_t expected = kWaiting;
  if (!note.state.compare_exchange_strong(expected, kTaking, std::memory_order_acq_rel)) {
    return;
  }
  const Inside inside;
  const int saved_errno = errno;
  // Between the look and the exchange the place may have become another wait's.
  const bool is_meant = g_watched_locks[place].load(std::memory_order_relaxed) == lock &&
                        monotonic_ns() >= note.sample_at_ns.load(std::memory_order_relaxed);
  if (is_meant) {
    note.depth = take_stack(note.frames, kMaxFrames, caller);
    note.labels = current_labels();
  }
  expected = kTaking;
  if (!note.state.compare_exchange_strong(expected, is_meant ? kTaken : kWaiting,
                                          std::memory_order_acq_rel)) {
    note.state.store(kFree, std::memory_order_release);
  }
  errno = saved_errno;
}

void reset_holders_in_child() noexcept {
  g_notes_left.store(0, std::memory_order_relaxed);
  for (size_t place = 0; place < kWatchedLocks; ++place) {
    g_watched_locks[place].store(nullptr, std::memory_order_relaxed);
    g_notes[place].state.store(kFree, std::memory_order_relaxed);
  }
}

}  // namespace plimsoll::appprof
