// Threads that are to be there all at once.
#pragma once

#include <condition_variable>
#include <mutex>

namespace plimsoll::testing {

// Lets threads go on once so many have come. A mutex and a condition variable, which ThreadSanitizer knows as places where a thread waits:
// it holds back signals elsewhere.
class Meeting {
 public:
  explicit Meeting(int expected) : missing_(expected) {}

  void come_and_wait() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) {
      all_came_.notify_all();
    }
    all_came_.wait(lock, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_came_;
  int missing_;  // guarded by mutex_
};

}  // namespace plimsoll::testing
