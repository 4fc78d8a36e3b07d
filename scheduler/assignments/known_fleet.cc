#include "scheduler/assignments/known_fleet.h"

#include <algorithm>

namespace plimsoll::scheduler {
namespace {

std::vector<std::string_view> jobs_of(const store::Census& census) {
  std::vector<std::string_view> jobs;
  for (const wire::InstanceUsage& usage : census.instances) {
    if (!usage.job().empty()) {
      jobs.push_back(usage.job());
    }
  }
  return jobs;
}

std::string rack_of(const store::LiveMachine& machine) {
  return machine.rack.empty() ? std::string()
                              : fmt::format("{}/{}/{}", machine.attributes.datacenter(),
                                            machine.attributes.cluster(), machine.rack);
}

}  // namespace

Result<KnownFleet> KnownFleet::load(store::LiveMachines& machines) {
  auto known = machines.machines();
  auto censuses = machines.censuses();
  if (!known || !censuses) {
    return !known ? propagate(known) : propagate(censuses);
  }
  KnownFleet fleet{.machines = std::move(*known), .censuses = std::move(*censuses), .racks = {}};
  fleet.racks.reserve(fleet.machines.size());
  for (const store::LiveMachine& machine : fleet.machines) {
    fleet.racks.push_back(rack_of(machine));
  }
  return fleet;
}

std::vector<Candidate> KnownFleet::candidates(
    const std::function<bool(const store::LiveMachine& machine)>& passes) const {
  std::vector<Candidate> candidates;
  auto census = censuses.begin();
  for (size_t number = 0; number < machines.size(); ++number) {
    const store::LiveMachine& machine = machines[number];
    if (!passes(machine)) {
      continue;
    }
    const std::string& id = machine.attributes.id();
    census = std::find_if(census, censuses.end(), [&](const auto& of) { return of.machine_id >= id; });
    const bool is_counted = census != censuses.end() && census->machine_id == id;
    candidates.push_back({.machine = &machine.attributes,
                          .jobs = is_counted ? jobs_of(*census) : std::vector<std::string_view>(),
                          .rack = racks[number]});
  }
  return candidates;
}

bool can_collect(const store::LiveMachine& machine, const wire::Assignment& collects) {
  return std::ranges::none_of(collects.events(), [&](const wire::EventRequest& event) {
    return std::ranges::find(machine.missing_events, event.name()) != machine.missing_events.end();
  });
}

}  // namespace plimsoll::scheduler
