#include "query/traces/machine_attributes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/stop_scope.h"
#include "base/time.h"
#include "store/fleet.h"

namespace plimsoll::query {
namespace {

constexpr int64_t kMaxTimes = 48;
constexpr int64_t kMinStepNs = 10 * kNsPerMinute;
constexpr int64_t kMaxJoinedNs = int64_t{30} * 24 * kNsPerHour;

// Each name once. A machine that was installed again has a new ID and its old host name: of those that registered with a host name the one
// that was heard of last has it, unless it is an ID.
std::map<std::string_view, const store::LiveMachine*> machines_by_name(const store::PastFleet& fleet) {
  std::map<std::string_view, const store::LiveMachine*> named;
  for (const store::LiveMachine& machine : fleet.machines) {
    if (machine.first_seen_ns == 0 || machine.attributes.hostname().empty()) {
      continue;
    }
    const store::LiveMachine*& known = named[machine.attributes.hostname()];
    if (known == nullptr || machine.last_seen_ns > known->last_seen_ns) {
      known = &machine;
    }
  }
  for (const store::LiveMachine& machine : fleet.machines) {
    named[machine.attributes.id()] = &machine;
  }
  return named;
}

}  // namespace

Result<MachineAttributes> MachineAttributes::load(const std::string& data_dir, const RequestTimes& times,
                                                  int64_t now_ns) {
  MachineAttributes made;
  const auto machines = store::open_fleet(data_dir);
  const int64_t to_ns = std::min(times.to_ns, now_ns);
  const int64_t from_ns = std::min(to_ns, std::max(times.from_ns, to_ns - kMaxJoinedNs));
  // Rounded up: what a division leaves over would be one more time.
  const int64_t step_ns = std::max(kMinStepNs, (to_ns - from_ns + kMaxTimes - 2) / (kMaxTimes - 1));
  for (int64_t time_ns = from_ns;; time_ns = std::min(to_ns, time_ns + step_ns)) {
    if (const Status goes_on = check_stop(); !goes_on) {
      return propagate(goes_on);
    }
    const auto fleet = machines->at(time_ns);
    if (fleet) {
      const std::optional<store::PastFleet>& past = *fleet;
      if (!past) {
        return made;  // no server has kept one
      }
      made.add(*past);
    } else if (fleet.error().code != ErrorCode::kNotFound) {
      return propagate(fleet, "reading what machines were");
    }
    if (time_ns == to_ns) {
      return made;
    }
  }
}

void MachineAttributes::add(const store::PastFleet& fleet) {
  for (const auto& [name, machine] : machines_by_name(fleet)) {
    const wire::Machine& told = machine->attributes;
    const auto known = [](const Known& one) { return std::tie(one.platform, one.kernel, one.datacenter); };
    Known now{.since_ns = fleet.at_ns,
              .platform = told.platform(),
              .kernel = told.kernel_release(),
              .datacenter = told.datacenter()};
    std::vector<Known>& of_name = machines_[std::string(name)];
    if (of_name.empty() || known(of_name.back()) != known(now)) {
      of_name.push_back(std::move(now));
    }
  }
}

void MachineAttributes::append_to(std::vector<traces::Attribute>& attributes, std::string_view machine,
                                  int64_t time_ns) const {
  const auto found = machine.empty() ? machines_.end() : machines_.find(machine);
  if (found == machines_.end()) {
    return;
  }
  const auto later = std::ranges::upper_bound(found->second, time_ns, {}, &Known::since_ns);
  const Known& known = later == found->second.begin() ? *later : *std::prev(later);
  for (const auto& [key, value] : {std::pair(kMachinePlatform, &known.platform),
                                   {kMachineKernel, &known.kernel},
                                   {kMachineDatacenter, &known.datacenter}}) {
    if (!value->empty()) {
      attributes.push_back({key, *value});
    }
  }
}

}  // namespace plimsoll::query
