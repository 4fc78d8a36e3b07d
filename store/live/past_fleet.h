// The fleet at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "store/live/live_machine.h"
#include "store/live/placed_jobs.h"

namespace plimsoll::store {

struct PastFleet {
  int64_t at_ns = 0;  // wall clock of the server, as all of these
  // Those that had registered by then and are not forgotten, and those that the inventory named; by ID. One that was
  // heard of again within three heartbeats counts as heard of then.
  std::vector<LiveMachine> machines;
  PlacedJobs jobs;  // of each machine, by the jobs' names
  // When the server started that ran then, and when any machine had been heard of before; 0: unknown.
  int64_t server_started_ns = 0;
  int64_t last_heard_before_ns = 0;

  // Whether the machine counts as live: with a heartbeat within the last three, or, for five minutes after the
  // server's start, alive when the one before went away, since daemons come back with growing pauses.
  bool is_there(const LiveMachine& machine) const;
};

// The fleet as it was then.
using FleetAt = std::function<Result<PastFleet>(int64_t time_ns)>;

}  // namespace plimsoll::store
