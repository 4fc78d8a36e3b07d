// How running work learns that its caller is gone.
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"

namespace plimsoll {

// An error once the work should end, which is then the work's own. Cheap enough to be asked every few thousand steps; work that
// takes one asks it at least every few milliseconds. Empty: to the end.
using StopCheck = std::function<Status()>;

// For loops: asks once in so many steps, of which a single one may be too short to ask for.
class SteppedCheck {
 public:
  SteppedCheck(const StopCheck& check, size_t steps) : check_(check), steps_(steps) {}

  Status step() {
    if (!check_ || ++since_last_ < steps_) {
      return {};
    }
    since_last_ = 0;
    return check_();
  }

 private:
  const StopCheck& check_;
  size_t steps_;
  size_t since_last_ = 0;
};

}  // namespace plimsoll
