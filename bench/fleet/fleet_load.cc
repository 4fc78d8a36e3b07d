#include "bench/fleet/fleet_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "bench/harness/statistics.h"

namespace plimsoll::bench {
namespace {

int64_t whole_ms(double seconds) {
  return static_cast<int64_t>(seconds * 1e3);
}

}  // namespace

std::string settings_of(const FleetPace& pace) {
  return fmt::format(
      "[fleet]\nheartbeat = \"{}ms\"\n"
      "[collect]\nwindow = \"{}ms\"\n"
      "[draw]\ninterval = \"{}ms\"\npercent = 1\n",
      whole_ms(pace.heartbeat_s), whole_ms(pace.window_s), whole_ms(pace.draw_s));
}

Status expect_no_failures(const Simulated& simulated, std::string_view logs) {
  if (simulated.failures.empty()) {
    return {};
  }
  std::string what;
  for (const auto& [failure, times] : simulated.failures) {
    what += fmt::format("\n{} times: {}", times, failure);
  }
  return fail(ErrorCode::kUnavailable, "simulated daemons met failures:{}\n{}", what, logs);
}

std::string summary_of(const Simulated& simulated) {
  return fmt::format(
      "{} heartbeats from when they were due, the middle one {:.2f} ms, the slowest {:.0f} ms; {} profiles "
      "of "
      "{} asked for, {} times told to come back later",
      simulated.latencies_ms.size(), median(simulated.latencies_ms), quantile(simulated.latencies_ms, 1),
      simulated.delivered.size(), simulated.assigned, simulated.turned_away);
}

}  // namespace plimsoll::bench
