#include "scheduler/assignments/known_fleet.h"

#include <algorithm>

namespace plimsoll::scheduler {
namespace {

// Those that have a name, which stand behind the one that has none.
std::span<const store::PlacedJob> named(std::span<const store::PlacedJob> jobs) {
  const bool is_first_unnamed = !jobs.empty() && jobs.front().job == store::PlacedJobs::kUnnamed;
  return jobs.subspan(is_first_unnamed ? 1 : 0);
}

std::string rack_of(const store::LiveMachine& machine) {
  return machine.rack.empty() ? std::string()
                              : fmt::format("{}/{}/{}", machine.attributes.datacenter(),
                                            machine.attributes.cluster(), machine.rack);
}

}  // namespace

Result<KnownFleet> KnownFleet::load(store::LiveMachines& machines, int64_t time_ns) {
  auto fleet = machines.fleet_at(time_ns);
  return fleet ? Result<KnownFleet>(of(std::move(*fleet))) : propagate(fleet);
}

KnownFleet KnownFleet::of(store::PastFleet past) {
  KnownFleet known{.fleet = std::move(past), .racks = {}};
  known.racks.reserve(known.fleet.machines.size());
  for (const store::LiveMachine& machine : known.fleet.machines) {
    known.racks.push_back(rack_of(machine));
  }
  return known;
}

std::vector<Candidate> KnownFleet::candidates(
    const std::function<bool(const store::LiveMachine& machine)>& passes) const {
  std::vector<Candidate> candidates;
  for (size_t number = 0; number < fleet.machines.size(); ++number) {
    const store::LiveMachine& machine = fleet.machines[number];
    if (passes(machine)) {
      candidates.push_back(
          {.machine = &machine.attributes, .jobs = named(fleet.jobs.of(number)), .rack = racks[number]});
    }
  }
  return candidates;
}

bool can_collect(const store::LiveMachine& machine, const wire::Assignment& collects) {
  return std::ranges::none_of(collects.events(), [&](const wire::EventRequest& event) {
    return std::ranges::find(machine.missing_events, event.name()) != machine.missing_events.end();
  });
}

}  // namespace plimsoll::scheduler
