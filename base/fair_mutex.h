// A mutex that its waiters get in the order they came.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace plimsoll {

// For what is held for long, by threads that take it again at once: of a std::mutex such a thread may have every turn, and
// others none. Costs a wake-up of all waiters for each turn: for few of them. Use it with std::lock_guard.
class FairMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    const uint64_t turn = next_turn_++;
    turn_ended_.wait(lock, [&] { return turn == current_turn_; });
  }

  void unlock() {
    const std::lock_guard lock(mutex_);
    ++current_turn_;
    turn_ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_ended_;
  uint64_t next_turn_ = 0;     // protected by mutex_
  uint64_t current_turn_ = 0;  // likewise; its thread holds this
};

}  // namespace plimsoll
