#include "store/live/inventory.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <string_view>

namespace plimsoll::store {
namespace {

void put_in_place(const InventoryMachine& entry, LiveMachine& machine) {
  machine.attributes.set_id(entry.id);
  if (!entry.datacenter.empty()) {
    machine.attributes.set_datacenter(entry.datacenter);
  }
  if (!entry.cluster.empty()) {
    machine.attributes.set_cluster(entry.cluster);
  }
  if (!entry.platform.empty()) {
    machine.attributes.set_platform(entry.platform);
  }
  machine.rack = entry.rack;
  machine.owner = entry.owner;
}

const std::string& id_of(const LiveMachine& machine) {
  return machine.attributes.id();
}

void put_in_place(const InventoryInstance& entry, size_t shared_by, wire::InstanceUsage& usage) {
  if (entry.quota_cpus > 0) {
    usage.set_quota_cpus(entry.quota_cpus / static_cast<double>(shared_by));
  }
  if (entry.weight > 0) {
    usage.set_weight(entry.weight);
  }
}

// Both are by machine.
template <typename Machine, typename IdOf>
void merge_in(std::vector<Machine> further, std::vector<Machine>& machines, IdOf id) {
  std::vector<Machine> merged;
  merged.reserve(machines.size() + further.size());
  const auto moved = [](std::vector<Machine>& from) {
    return std::ranges::subrange(std::move_iterator(from.begin()), std::move_iterator(from.end()));
  };
  std::ranges::merge(moved(machines), moved(further), std::back_inserter(merged), {}, id, id);
  machines = std::move(merged);
}

// Finds the census of each machine in turn, and makes those that are not there.
class CensusWalk {
 public:
  explicit CensusWalk(std::vector<Census>& censuses) : censuses_(censuses), at_(censuses.begin()) {}

  // In ascending order of machines.
  Census& of(std::string_view machine_id, int64_t read_ns) {
    while (at_ != censuses_.end() && at_->machine_id < machine_id) {
      ++at_;
    }
    if (at_ != censuses_.end() && at_->machine_id == machine_id) {
      return *at_;
    }
    if (made_.empty() || made_.back().machine_id != machine_id) {
      made_.push_back({.machine_id = std::string(machine_id), .taken_ns = read_ns, .instances = {}});
    }
    return made_.back();
  }
  // At the end.
  void add_made() { merge_in(std::move(made_), censuses_, &Census::machine_id); }

 private:
  std::vector<Census>& censuses_;
  std::vector<Census>::iterator at_;
  std::vector<Census> made_;
};

}  // namespace

void merge_inventory(const std::vector<InventoryMachine>& inventory, std::vector<LiveMachine>& machines) {
  std::vector<LiveMachine> unheard;
  auto machine = machines.begin();
  for (const InventoryMachine& entry : inventory) {
    while (machine != machines.end() && id_of(*machine) < entry.id) {
      ++machine;
    }
    const bool is_registered = machine != machines.end() && id_of(*machine) == entry.id;
    put_in_place(entry, is_registered ? *machine : unheard.emplace_back());
  }
  merge_in(std::move(unheard), machines, id_of);
}

void merge_inventory(const InventoryInstance& entry, std::vector<wire::InstanceUsage>& instances) {
  const auto is_meant = [&](const wire::InstanceUsage& usage) {
    return usage.job() == entry.job && (entry.instance.empty() || usage.instance() == entry.instance);
  };
  const auto meant = static_cast<size_t>(std::ranges::count_if(instances, is_meant));
  if (meant == 0) {
    wire::InstanceUsage& added = instances.emplace_back();
    added.set_job(entry.job);
    added.set_instance(entry.instance.empty() ? entry.job : entry.instance);
    put_in_place(entry, 1, added);
  }
  for (wire::InstanceUsage& usage : instances) {
    if (meant > 0 && is_meant(usage)) {
      put_in_place(entry, meant, usage);
    }
  }
}

void merge_inventory(const std::vector<std::pair<InventoryInstance, int64_t>>& inventory,
                     std::vector<Census>& censuses) {
  CensusWalk walk(censuses);
  for (const auto& [entry, read_ns] : inventory) {
    merge_inventory(entry, walk.of(entry.machine_id, read_ns).instances);
  }
  walk.add_made();
}

}  // namespace plimsoll::store
