// What collecting one window cost, and what the governor wants of it.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/governor.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// One thread, from a window's opening to its profile. Without a governor (null, borrowed) it measures and limits nothing.
class WindowCost {
 public:
  explicit WindowCost(Governor* governor);

  // That holds for the whole window.
  uint32_t slowdown() const { return slowdown_; }

  // Why the window has to end before its time; empty: it has not.
  const std::string& reason_to_end() const { return reason_to_end_; }
  void look_for_reason_to_end();

  // At the window's end: the profile's cost, and a note where the rate was lowered or the window cut short.
  void write(wire::RawProfile& profile) const;

 private:
  Governor* const governor_;
  uint32_t slowdown_ = 1;
  int64_t cpu_at_start_ns_ = 0;
  std::string reason_to_end_;
};

}  // namespace plimsoll
