// Passes that a test begins and ends, at times that it sets.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/background/background_task.h"
#include "tests/start.h"

namespace plimsoll::server {

// Both clocks of tasks. Stands still until it is set ahead; a task learns of it by BackgroundTask::check_clock().
class TestClock {
 public:
  WorkClocks clocks() {
    return {.wall_now_ns = [this] { return plimsoll::testing::kStartNs + passed_ns_; },
            .now =
                [this] {
                  ++looks_;
                  return std::chrono::steady_clock::time_point(passed());
                }};
  }
  // How often tasks have looked at the clock of pauses.
  int64_t looks() const { return looks_; }
  std::chrono::nanoseconds passed() const { return std::chrono::nanoseconds(passed_ns_); }
  int64_t passed_s() const { return passed_ns_ / kNsPerSecond; }
  void advance(std::chrono::nanoseconds by) { passed_ns_ += by.count(); }
  void advance(std::chrono::nanoseconds by, BackgroundTask& task) {
    advance(by);
    task.check_clock();
  }

 private:
  std::atomic<int64_t> passed_ns_ = 0;
  std::atomic<int64_t> looks_ = 0;
};

// Each pass waits for its end, which may be given before it begins.
class HeldPasses {
 public:
  explicit HeldPasses(const TestClock& clock) : clock_(clock) {}

  BackgroundTask::Pass pass() {
    return [this](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      began_s_.push_back(clock_.passed_s());
      is_stopping_.push_back(stop.stop_requested());
      changed_.notify_all();
      changed_.wait(lock, [this] { return !given_.empty(); });
      Result<NextPass> end = std::move(given_.front());
      given_.pop_front();
      return end;
    };
  }

  // Each call waits for one more.
  void wait_for_start() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return began_s_.size() > waited_for_; });
    ++waited_for_;
  }
  void end(Result<NextPass> end = NextPass()) {
    const std::lock_guard lock(mutex_);
    given_.push_back(std::move(end));
    changed_.notify_all();
  }
  // When each pass began, in seconds of the clock.
  std::vector<int64_t> began_s() const {
    const std::lock_guard lock(mutex_);
    return began_s_;
  }
  // Whether the task was to stop when each pass began.
  std::vector<bool> is_stopping() const {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
  }

 private:
  const TestClock& clock_;
  mutable std::mutex mutex_;
  std::vector<int64_t> began_s_;
  std::vector<bool> is_stopping_;
  std::deque<Result<NextPass>> given_;
  size_t waited_for_ = 0;
  // Not a semaphore: that of libstdc++ 12 can miss its release and sleep for good (gcc.gnu.org/PR104928).
  std::condition_variable changed_;
};

inline Result<NextPass> disk_full() {
  return fail(ErrorCode::kUnavailable, "building rows: disk full");
}

}  // namespace plimsoll::server
