// What the server may ask of this machine, whatever it asks.
#pragma once

#include <cstdint>

#include "daemon/assignments/assignment_queue.h"
#include "proto/profile.pb.h"

namespace plimsoll {

struct LocalLimits {
  uint32_t max_rate_hz = 1000;
  uint32_t max_stack_rate_hz = 1000;
  uint32_t max_stack_bytes = 64 << 10;
  int64_t max_window_ns = 0;
};

// The assignment within the limits: a lower rate, longer periods, fewer and shorter stacks, a shorter window.
wire::Assignment within_limits(const wire::Assignment& assignment, const LocalLimits& limits);

// The same, refused where nothing would be left of its time, or it has none. Which events are allowed is for plan_events() to say, and
// to tell.
WantedAssignment accept(const wire::Assignment& assignment, const LocalLimits& limits);

}  // namespace plimsoll
