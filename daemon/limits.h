// What the server may ask of this machine, whatever it asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/profile.pb.h"

namespace plimsoll {

struct LocalLimits {
  uint32_t max_rate_hz = 1000;
  uint32_t max_stack_rate_hz = 1000;
  uint32_t max_stack_bytes = 64 << 10;
  int64_t max_window_ns = 0;
  // Allowed ones, as perf::canonical_name has them: an event allowed by one name is not by another. None: all.
  std::vector<std::string> events;
};

// The assignment within the limits: a lower rate, longer periods, fewer and shorter stacks, a shorter window, fewer events. An assignment none of whose events is
// allowed has no duration left, and is not to be run.
wire::Assignment within_limits(const wire::Assignment& assignment, const LocalLimits& limits);

}  // namespace plimsoll
