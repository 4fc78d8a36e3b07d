// The time limit of a query, and whether its client is still there.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"

namespace plimsoll::sqlite {

// One thread.
class Deadline {
 public:
  // `is_abandoned`: whether the client is gone; called at most a few times a second. Empty: it is there.
  Deadline(std::chrono::milliseconds time, std::function<bool()> is_abandoned);

  // kTooLarge past the time, kUnavailable where the client is gone; from then on always. Some 30 ns.
  Status check();

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds time_;
  std::function<bool()> is_abandoned_;
  Clock::time_point end_;
  Clock::time_point next_look_;
  bool has_nobody_ = false;
};

}  // namespace plimsoll::sqlite
