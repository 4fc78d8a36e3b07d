#include "store/local_fleet.h"

namespace plimsoll::store {

Result<int64_t> LocalFleet::count_machines() const {
  return machines_.ask<int64_t>([](LiveMachines& live) { return live.count(); });
}

Result<std::vector<LiveMachine>> LocalFleet::machines() const {
  return machines_.ask<std::vector<LiveMachine>>([](LiveMachines& live) { return live.machines(); });
}

Result<CurrentFleet> LocalFleet::current() const {
  return machines_.ask<CurrentFleet>([](LiveMachines& live) -> Result<CurrentFleet> {
    auto machines = live.machines();
    auto censuses = machines ? live.censuses() : propagate(machines);
    return censuses ? Result<CurrentFleet>({std::move(*machines), std::move(*censuses)})
                    : propagate(censuses);
  });
}

Result<std::optional<PastFleet>> LocalFleet::at(int64_t time_ns) const {
  return machines_.ask<std::optional<PastFleet>>(
      [time_ns](LiveMachines& live) -> Result<std::optional<PastFleet>> {
        auto fleet = live.fleet_at(time_ns);
        return fleet ? Result<std::optional<PastFleet>>(std::move(*fleet)) : propagate(fleet);
      });
}

Result<std::optional<DrawWithMachines>> LocalFleet::draw(std::string_view id) const {
  return draws_.ask<std::optional<DrawWithMachines>>([id](DrawStore& draws) { return draws.draw(id); });
}

Result<std::vector<DrawWithMachines>> LocalFleet::newest_draws(size_t limit) const {
  return draws_.ask<std::vector<DrawWithMachines>>([limit](DrawStore& draws) { return draws.newest(limit); });
}

Result<int64_t> LocalFleet::count_draws() const {
  return draws_.ask<int64_t>([](DrawStore& draws) { return draws.count(); });
}

Result<std::vector<DrawnWeight>> LocalFleet::drawn_weights(std::string_view draw) const {
  return draws_.ask<std::vector<DrawnWeight>>([draw](DrawStore& draws) { return draws.drawn_weights(draw); });
}

Result<std::vector<Stop>> LocalFleet::stops() const {
  return draws_.ask<std::vector<Stop>>([](DrawStore& draws) { return draws.stops(); });
}

Result<std::vector<ExperimentDefinition>> LocalFleet::experiments() const {
  return draws_.ask<std::vector<ExperimentDefinition>>([](DrawStore& draws) { return draws.experiments(); });
}

Result<std::vector<AskedFor>> LocalFleet::newest_requests(size_t limit, int64_t since_ns) const {
  return access_.ask<std::vector<AskedFor>>(
      [&](AccessStore& access) { return access.newest(limit, since_ns); });
}

Result<std::vector<CallerUse>> LocalFleet::callers(size_t limit, int64_t since_ns) const {
  return access_.ask<std::vector<CallerUse>>(
      [&](AccessStore& access) { return access.callers(limit, since_ns); });
}

}  // namespace plimsoll::store
