// What LiveMachines has from the inventory.
#include "store/live/inventory.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "store/live/live_machines.h"

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

// To the instances that it speaks of; adds one where there is none.
void merge(const InventoryInstance& entry, std::vector<wire::InstanceUsage>& instances) {
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

template <typename Entry>
struct Changes {
  std::vector<const Entry*> gone;
  std::vector<const Entry*> new_or_other;
};

template <typename Entry, typename KeyOf>
Changes<Entry> changes_of(const std::vector<Entry>& before, const std::vector<Entry>& after, KeyOf key_of) {
  std::map<decltype(key_of(before[0])), const Entry*> known;
  for (const Entry& entry : before) {
    known.emplace(key_of(entry), &entry);
  }
  Changes<Entry> changes;
  for (const Entry& entry : after) {
    const auto found = known.find(key_of(entry));
    if (found == known.end() || *found->second != entry) {
      changes.new_or_other.push_back(&entry);
    }
    if (found != known.end()) {
      known.erase(found);
    }
  }
  for (const auto& [key, entry] : known) {
    changes.gone.push_back(entry);
  }
  return changes;
}

template <typename Entry, typename Write>
Status write_in_batches(const std::vector<const Entry*>& entries, sqlite::Database& database, Write write) {
  constexpr size_t kBatch = 1000;
  for (size_t first = 0; first < entries.size(); first += kBatch) {
    auto transaction = sqlite::Transaction::begin(database);
    if (!transaction) {
      return propagate(transaction);
    }
    for (size_t i = first; i < std::min(first + kBatch, entries.size()); ++i) {
      if (Status written = write(*entries[i]); !written) {
        return written;
      }
    }
    if (Status committed = transaction->commit(); !committed) {
      return committed;
    }
  }
  return {};
}

template <typename Entry, typename Remove, typename Put>
Status apply(const Changes<Entry>& changes, sqlite::Database& database, Remove remove, Put put) {
  const Status removed = write_in_batches(changes.gone, database, remove);
  return removed ? write_in_batches(changes.new_or_other, database, put) : removed;
}

}  // namespace

Status LiveMachines::keep_inventory(const std::vector<InventoryMachine>& inventory) {
  const auto before = this->inventory();
  if (!before) {
    return propagate(before);
  }
  const auto changes =
      changes_of(*before, inventory, [](const InventoryMachine& machine) { return machine.id; });
  return apply(
      changes, database_,
      [&](const InventoryMachine& gone) {
        return database_.execute("DELETE FROM inventory WHERE machine_id = ?", gone.id);
      },
      [&](const InventoryMachine& machine) {
        return database_.execute("INSERT OR REPLACE INTO inventory VALUES (?, ?, ?, ?, ?, ?)", machine.id,
                                 machine.datacenter, machine.cluster, machine.rack, machine.platform,
                                 machine.owner);
      });
}

Status LiveMachines::keep_inventory_instances(const std::vector<InventoryInstance>& instances,
                                              int64_t now_ns) {
  const auto read = inventory_instances();
  if (!read) {
    return propagate(read);
  }
  std::vector<InventoryInstance> before;
  for (const auto& [instance, read_ns] : *read) {
    before.push_back(instance);
  }
  const auto changes = changes_of(before, instances, [](const InventoryInstance& instance) {
    return std::tuple(instance.machine_id, instance.job, instance.instance);
  });
  return apply(
      changes, database_,
      [&](const InventoryInstance& gone) {
        return database_.execute(
            "DELETE FROM inventory_instance WHERE machine_id = ? AND job = ? AND instance = ?",
            gone.machine_id, gone.job, gone.instance);
      },
      [&](const InventoryInstance& instance) {
        return database_.execute("INSERT OR REPLACE INTO inventory_instance VALUES (?, ?, ?, ?, ?, ?)",
                                 instance.machine_id, instance.job, instance.instance, instance.quota_cpus,
                                 instance.weight, now_ns);
      });
}

Result<std::vector<InventoryMachine>> LiveMachines::inventory() {
  const auto is_there = has_table("inventory");
  if (!is_there || !*is_there) {
    return is_there ? Result<std::vector<InventoryMachine>>() : propagate(is_there);
  }
  std::vector<InventoryMachine> inventory;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, datacenter, cluster, rack, platform, owner FROM inventory ORDER BY machine_id"),
      [&](const sqlite::Statement& row) {
        inventory.push_back({std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2)),
                             std::string(row.text(3)), std::string(row.text(4)), std::string(row.text(5))});
      });
  return read ? Result<std::vector<InventoryMachine>>(std::move(inventory)) : propagate(read);
}

Result<std::vector<LiveMachine>> LiveMachines::machines() {
  auto machines = registered();
  const auto known = machines ? inventory() : propagate(machines);
  if (!known) {
    return propagate(known);
  }
  std::vector<LiveMachine> unheard;
  auto machine = machines->begin();
  for (const InventoryMachine& entry : *known) {  // both are by ID
    while (machine != machines->end() && id_of(*machine) < entry.id) {
      ++machine;
    }
    const bool is_registered = machine != machines->end() && id_of(*machine) == entry.id;
    put_in_place(entry, is_registered ? *machine : unheard.emplace_back());
  }
  merge_in(std::move(unheard), *machines, id_of);
  return machines;
}

Result<std::vector<Census>> LiveMachines::censuses() {
  auto censuses = told_censuses();
  const auto known = censuses ? inventory_instances() : propagate(censuses);
  if (!known) {
    return propagate(known);
  }
  CensusWalk walk(*censuses);
  for (const auto& [entry, read_ns] : *known) {
    merge(entry, walk.of(entry.machine_id, read_ns).instances);
  }
  walk.add_made();
  return censuses;
}

Result<std::vector<std::pair<InventoryInstance, int64_t>>> LiveMachines::inventory_instances() {
  std::vector<std::pair<InventoryInstance, int64_t>> instances;
  const auto is_there = has_table("inventory_instance");
  if (!is_there || !*is_there) {
    return is_there ? Result<std::vector<std::pair<InventoryInstance, int64_t>>>(std::move(instances))
                    : propagate(is_there);
  }
  const auto read = sqlite::for_each_row(
      database_.query("SELECT machine_id, job, instance, quota_cpus, weight, read_ns FROM inventory_instance "
                      "ORDER BY machine_id, job, instance"),
      [&](const sqlite::Statement& row) {
        instances.emplace_back(InventoryInstance{std::string(row.text(0)), std::string(row.text(1)),
                                                 std::string(row.text(2)), row.real(3), row.real(4)},
                               row.integer(5));
      });
  return read ? Result<std::vector<std::pair<InventoryInstance, int64_t>>>(std::move(instances))
              : propagate(read);
}

}  // namespace plimsoll::store
