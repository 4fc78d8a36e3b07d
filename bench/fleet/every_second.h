// Work that is repeated beside a measurement.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/result.h"
#include "bench/store/clock.h"

namespace plimsoll::bench {

// Calls `work` once a second in a thread of its own, until it fails, or until stop(). Later where the call before took longer.
class EverySecond {
 public:
  explicit EverySecond(std::function<Status()> work)
      : thread_([this, work = std::move(work)](const std::stop_token& token) { run(work, token); }) {}
  EverySecond(const EverySecond&) = delete;
  EverySecond& operator=(const EverySecond&) = delete;
  ~EverySecond() = default;

  // Waits for the call under way. Returns how the last one ended. To be called once.
  Status stop() {
    thread_.request_stop();
    thread_.join();
    return status_;
  }

 private:
  void run(const std::function<Status()>& work, const std::stop_token& token) {
    double next_s = now_s();
    while (status_ && !token.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(next_s - now_s()));
      status_ = work();
      next_s = std::max(next_s + 1, now_s());
    }
  }

  Status status_;        // the thread's until it has ended
  std::jthread thread_;  // last: it uses the others
};

}  // namespace plimsoll::bench
