// The machines that draws are made from, as heartbeats and the inventory have told of them.
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
  std::vector<store::LiveMachine> machines;  // by ID
  std::vector<store::Census> censuses;       // likewise
  // By machine, the rack's name with those of its datacenter and cluster, since racks of two may have the same; empty: unknown.
  std::vector<std::string> racks;

  // Takes seconds for a million machines.
  static Result<KnownFleet> load(store::LiveMachines& machines);

  // Those that pass, by ID, with what runs on them. Borrows from this.
  std::vector<Candidate> candidates(
      const std::function<bool(const store::LiveMachine& machine)>& passes) const;
};

// Whether the machine can count all events that are named; those that it does not know by name, it may.
bool can_collect(const store::LiveMachine& machine, const wire::Assignment& collects);

}  // namespace plimsoll::scheduler
