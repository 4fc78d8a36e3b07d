// What measurements of a fleet under heartbeats have in common.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/fleet/daemon_simulator.h"

namespace plimsoll::bench {

// How often daemons report, and how often, and for how long, one machine in a hundred is profiled. A draw's interval is whole seconds.
struct FleetPace {
  double heartbeat_s = 0;
  double window_s = 0;
  double draw_s = 0;
};

// Tables of a server's configuration: [fleet], [collect], [draw].
std::string settings_of(const FleetPace& pace);

// Fails where simulated daemons met failures; the error ends with `logs`.
Status expect_no_failures(const Simulated& simulated, std::string_view logs);

// "180000 heartbeats from when they were due, the middle one 0.27 ms, ...": of heartbeats and of profiles.
std::string summary_of(const Simulated& simulated);

}  // namespace plimsoll::bench
