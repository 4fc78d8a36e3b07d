// A lock for what waits while it is held, for another machine's answer say: threads that want it give up when their own time is over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/stop_scope.h"

namespace plimsoll {

// Outlives its holds. Any thread; the same one must not lock it twice.
class StoppableMutex {
 public:
  // It is locked as long as this lives. Movable.
  class Hold {
   public:
    Hold(Hold&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Hold& operator=(Hold&&) = delete;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (mutex_ != nullptr) {
        mutex_->release();
      }
    }

   private:
    friend class StoppableMutex;
    explicit Hold(StoppableMutex& mutex) : mutex_(&mutex) {}

    StoppableMutex* mutex_;
  };

  StoppableMutex() = default;
  StoppableMutex(const StoppableMutex&) = delete;
  StoppableMutex& operator=(const StoppableMutex&) = delete;
  ~StoppableMutex() = default;

  // Waits for other threads; ends with the error of check_stop() within about 100 ms of when that fails. A lock that is free is taken without
  // asking it.
  Result<Hold> lock() {
    constexpr std::chrono::milliseconds kBetweenChecks{100};
    std::unique_lock waiting(mutex_);
    while (!freed_.wait_for(waiting, kBetweenChecks, [this] { return !is_held_; })) {
      if (const Status stopped = check_stop(); !stopped) {
        return propagate(stopped);
      }
    }
    is_held_ = true;
    return Hold(*this);
  }

  // Nothing: another thread has it.
  std::optional<Hold> try_lock() {
    const std::lock_guard guard(mutex_);
    if (is_held_) {
      return std::nullopt;
    }
    is_held_ = true;
    return Hold(*this);
  }

 private:
  void release() {
    const std::lock_guard guard(mutex_);
    is_held_ = false;
    // All: the one that is woken may be about to give up.
    freed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable freed_;
  bool is_held_ = false;  // protected by mutex_
};

}  // namespace plimsoll
