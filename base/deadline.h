// The time limit of a question, and whether its client is still there.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"

namespace plimsoll {

// Any thread.
class Deadline {
 public:
  // `what` is stopped ("the statement"), after `time` (0: there is no limit). `is_abandoned`: whether nobody waits for the answer any
  // more; called at most ten times a second, by any thread. Empty: its client is there.
  Deadline(std::string what, std::chrono::milliseconds time, std::function<bool()> is_abandoned);

  // kTooLarge past the time, kUnavailable where it is abandoned; from then on always. Some 30 ns.
  Status check();

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const std::chrono::milliseconds time_;
  const std::function<bool()> is_abandoned_;
  const Clock::time_point end_;
  std::atomic<Clock::time_point> next_look_;
  std::atomic<bool> client_is_gone_ = false;
};

}  // namespace plimsoll
