// What collecting one window cost, and what the governor did about it.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/governor.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// One thread, from a window's opening to its profile. Without a governor (null, borrowed) it measures and limits nothing.
class WindowCost {
 public:
  WindowCost(Governor* governor, int64_t now_ns);

  // The slowdown that holds from now on.
  void note_slowdown(uint32_t slowdown, int64_t now_ns);
  // Why the window has to end now; empty: it has not.
  const std::string& reason_to_end() const { return reason_to_end_; }
  void look_for_reason_to_end();

  // At the window's end: the profile's cost, and a note where the rate was lowered or the window cut short.
  void write(wire::RawProfile& profile, int64_t now_ns);

 private:
  Governor* const governor_;
  const int64_t start_ns_;
  int64_t cpu_at_start_ns_ = 0;
  uint32_t slowdown_ = 1;
  int64_t slowed_since_ns_ = 0;  // meaningful under a slowdown
  int64_t slowed_ns_ = 0;
  std::string reason_to_end_;
};

}  // namespace plimsoll
