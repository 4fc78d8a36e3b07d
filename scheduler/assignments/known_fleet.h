// The machines that draws are made from, from heartbeats and the inventory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "scheduler/draws/population.h"
#include "store/live/live_machines.h"

namespace plimsoll::scheduler {

struct KnownFleet {
  store::PastFleet fleet;
  // By machine, the rack's name with those of its datacenter and cluster, since racks of two may have the same; empty: unknown.
  std::vector<std::string> racks;

  // As it was at a time, now or before: the same at every time that this is asked, as long as what is written meanwhile
  // is of later times. Takes seconds for a million machines, and 1 to 2 KiB for each (MallocTrimScope).
  static Result<KnownFleet> load(store::LiveMachines& machines, int64_t time_ns);

  static KnownFleet of(store::PastFleet past);

  // Those that pass, by ID, with what runs on them. Borrows from this.
  std::vector<Candidate> candidates(
      const std::function<bool(const store::LiveMachine& machine)>& passes) const;
};

// Whether the machine can count all events that are named; those that it does not know by name, it may.
bool can_collect(const store::LiveMachine& machine, const wire::Assignment& collects);

}  // namespace plimsoll::scheduler
