// What several threads may hold together of memory whose size is known before it is taken.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/result.h"
#include "base/stop_check.h"

namespace plimsoll {

// Outlives its shares. Any thread.
class MemoryBudget {
 public:
  // Shares of at most `uncounted_bytes` are not counted: there are few of them at a time, and they never wait for large ones.
  MemoryBudget(uint64_t max_bytes, uint64_t uncounted_bytes)
      : max_bytes_(max_bytes), uncounted_bytes_(uncounted_bytes) {}

 private:
  friend class MemoryShare;
  // One that is larger than all of it has it alone. With the mutex held.
  bool has_room(uint64_t held_bytes, uint64_t bytes) const {
    return used_bytes_ == held_bytes || used_bytes_ + bytes <= max_bytes_;
  }

  const uint64_t max_bytes_;
  const uint64_t uncounted_bytes_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  uint64_t used_bytes_ = 0;  // guarded by mutex_
  unsigned waiting_ = 0;     // likewise
};

// What one piece of work holds of a budget, given back when it is destroyed. For one thread.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryBudget& budget) : budget_(budget) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() {
    const std::lock_guard lock(budget_.mutex_);
    budget_.used_bytes_ -= counted_bytes_;
    budget_.given_back_.notify_all();
  }

  // So many more, at once or not at all: kUnavailable, also while others wait, so that those get their turn.
  Status try_take(uint64_t bytes) {
    const std::lock_guard lock(budget_.mutex_);
    const uint64_t more = to_count(bytes);
    if (more != 0 &&
        ((budget_.waiting_ != 0 && counted_bytes_ == 0) || !budget_.has_room(counted_bytes_, more))) {
      return fail(ErrorCode::kUnavailable, "{} bytes of memory are held by other work", budget_.used_bytes_);
    }
    count(bytes, more);
    return {};
  }

  // So many more, as soon as there is room. Whoever waits must be the only one that does while it holds some.
  void take(uint64_t bytes) {
    static_cast<void>(take(bytes, [] { return Status(); }).has_value());
  }

  // Gives up with what `check` fails with, which is asked a few times a second while it waits.
  Status take(uint64_t bytes, const StopCheck& check) {
    constexpr std::chrono::milliseconds kBetweenChecks{100};
    std::unique_lock lock(budget_.mutex_);
    const uint64_t more = to_count(bytes);
    ++budget_.waiting_;
    Status goes_on;
    const auto has_room = [&] { return more == 0 || budget_.has_room(counted_bytes_, more); };
    while (goes_on && !budget_.given_back_.wait_for(lock, kBetweenChecks, has_room)) {
      goes_on = check();
    }
    --budget_.waiting_;
    if (goes_on) {
      count(bytes, more);
    }
    return goes_on;
  }

 private:
  uint64_t to_count(uint64_t bytes) const {
    const uint64_t all = bytes_ + bytes;
    return all <= budget_.uncounted_bytes_ ? 0 : all - counted_bytes_;
  }
  void count(uint64_t bytes, uint64_t more) {
    bytes_ += bytes;
    counted_bytes_ += more;
    budget_.used_bytes_ += more;
  }

  MemoryBudget& budget_;
  uint64_t bytes_ = 0;
  uint64_t counted_bytes_ = 0;  // all of them, or none
};

}  // namespace plimsoll
