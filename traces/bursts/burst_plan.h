// Which burst-config fits requests of some duration (docs/bursts.md). Pure; any thread.
#pragma once

#include "base/result.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::traces {

struct BurstQuestion {
  double request_ms = 0;      // how long a request takes
  double max_share = 0.01;    // of the time
  double clock_error_ms = 0;  // clocks are right within +- this
};

struct BurstPlan {
  BurstConfig config;
  double shared_ms = 0;    // of a burst, in which all machines record
  double whole_share = 0;  // of the requests that touch a burst: recorded from begin to end, by all machines
  double bursts_per_day = 0;
};

// The shortest bursts in which all machines record ten times as long as a request takes, and that are twenty times as long as
// the clock error; as often as max_share permits. kInvalid where the question makes no sense or no burst-config fits.
Result<BurstPlan> plan_bursts(const BurstQuestion& question);

// Requests of duration `request_ms` that touch the burst of one machine at least, and those that lie whole within the
// bursts of all: (B - 2e - d) / (B + 2e + d). 0 where none can. Requests begin at any time alike.
double whole_share(double burst_ms, double request_ms, double clock_error_ms);

}  // namespace plimsoll::traces
