// Until when a question may take, and whether somebody still waits for the answer.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"

namespace plimsoll::sqlite {

// One thread.
class Deadline {
 public:
  // `is_abandoned`: nobody waits any longer; asked a few times a second at most. Empty: somebody does.
  Deadline(std::chrono::milliseconds time, std::function<bool()> is_abandoned);

  // kTooLarge past the time, kUnavailable where nobody waits; from then on always. Some 30 ns.
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
