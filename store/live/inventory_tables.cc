// What LiveMachines keeps of the inventory.
#include <algorithm>
#include <map>
#include <tuple>

#include "store/live/live_machines.h"

namespace plimsoll::store {
namespace {

// Of one machine.
template <typename Entry>
struct Changes {
  std::vector<const Entry*> gone;
  std::vector<const Entry*> new_or_other;
};

// By machine, of those that have any.
template <typename Entry>
using ChangesByMachine = std::map<std::string_view, Changes<Entry>>;

template <typename Entry, typename KeyOf>
ChangesByMachine<Entry> changes_of(const std::vector<Entry>& before, const std::vector<Entry>& after,
                                   KeyOf key_of) {
  std::map<decltype(key_of(before[0])), const Entry*> known;
  for (const Entry& entry : before) {
    known.emplace(key_of(entry), &entry);
  }
  ChangesByMachine<Entry> changes;
  for (const Entry& entry : after) {
    const auto key = key_of(entry);
    const auto found = known.find(key);
    if (found == known.end() || *found->second != entry) {
      changes[std::get<0>(key)].new_or_other.push_back(&entry);
    }
    if (found != known.end()) {
      known.erase(found);
    }
  }
  for (const auto& [key, entry] : known) {
    changes[std::get<0>(key)].gone.push_back(entry);
  }
  return changes;
}

// All of a machine together, so that nobody sees a part of it.
template <typename Entry, typename Write>
Status write_in_batches(const ChangesByMachine<Entry>& changes, sqlite::Database& database, Write write) {
  constexpr size_t kBatch = 1000;
  for (auto machine = changes.begin(); machine != changes.end();) {
    auto transaction = sqlite::Transaction::begin(database);
    if (!transaction) {
      return propagate(transaction);
    }
    for (size_t written = 0; written < kBatch && machine != changes.end(); ++machine) {
      written += machine->second.gone.size() + machine->second.new_or_other.size();
      if (Status done = write(machine->first, machine->second); !done) {
        return done;
      }
    }
    if (Status committed = transaction->commit(); !committed) {
      return committed;
    }
  }
  return {};
}

}  // namespace

Status LiveMachines::keep_inventory(const std::vector<InventoryMachine>& inventory, int64_t now_ns) {
  const auto before = this->inventory();
  if (!before) {
    return propagate(before);
  }
  const auto changes = changes_of(*before, inventory, [](const InventoryMachine& machine) {
    return std::tuple(std::string_view(machine.id));
  });
  return write_in_batches(
      changes, database_, [&](std::string_view machine_id, const Changes<InventoryMachine>& of) -> Status {
        if (of.new_or_other.empty()) {
          const auto deleted = database_.execute("DELETE FROM inventory WHERE machine_id = ?", machine_id);
          return deleted ? history().note_out_of_inventory(machine_id, now_ns) : deleted;
        }
        const InventoryMachine& machine = *of.new_or_other.front();
        const auto put = database_.execute("INSERT OR REPLACE INTO inventory VALUES (?, ?, ?, ?, ?, ?)",
                                           machine.id, machine.datacenter, machine.cluster, machine.rack,
                                           machine.platform, machine.owner);
        return put ? history().note_inventory(machine, now_ns) : put;
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
    return std::tuple(std::string_view(instance.machine_id), std::string_view(instance.job),
                      std::string_view(instance.instance));
  });
  return write_in_batches(
      changes, database_, [&](std::string_view machine_id, const Changes<InventoryInstance>& of) -> Status {
        Status written;
        for (const InventoryInstance* const gone : of.gone) {
          written =
              written
                  ? database_.execute(
                        "DELETE FROM inventory_instance WHERE machine_id = ? AND job = ? AND instance = ?",
                        gone->machine_id, gone->job, gone->instance)
                  : written;
        }
        for (const InventoryInstance* const put : of.new_or_other) {
          written = written
                        ? database_.execute(
                              "INSERT OR REPLACE INTO inventory_instance VALUES (?, ?, ?, ?, ?, ?)",
                              put->machine_id, put->job, put->instance, put->quota_cpus, put->weight, now_ns)
                        : written;
        }
        auto told = written ? told_instances(machine_id) : propagate(written);
        return told ? note_jobs(machine_id, std::move(*told), now_ns) : propagate(told);
      });
}

Result<std::vector<InventoryMachine>> LiveMachines::inventory() {
  const auto is_there = database_.has_table("inventory");
  if (!is_there || !*is_there) {
    return is_there ? Result<std::vector<InventoryMachine>>() : propagate(is_there);
  }
  std::vector<InventoryMachine> inventory;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, datacenter, cluster, rack, platform, owner FROM inventory ORDER BY machine_id"),
      [&](const sqlite::Statement& row) { inventory.push_back(read_inventory_machine(row)); });
  return read ? Result<std::vector<InventoryMachine>>(std::move(inventory)) : propagate(read);
}

Result<std::vector<std::pair<InventoryInstance, int64_t>>> LiveMachines::inventory_instances(
    std::string_view machine_id) {
  std::vector<std::pair<InventoryInstance, int64_t>> instances;
  const auto is_there = machine_id.empty() ? database_.has_table("inventory_instance") : Result<bool>(true);
  if (!is_there || !*is_there) {
    return is_there ? Result<std::vector<std::pair<InventoryInstance, int64_t>>>(std::move(instances))
                    : propagate(is_there);
  }
  const std::string select =
      "SELECT machine_id, job, instance, quota_cpus, weight, read_ns FROM inventory_instance ";
  const auto read = sqlite::for_each_row(
      machine_id.empty()
          ? database_.query(select + "ORDER BY machine_id, job, instance")
          : database_.query(select + "WHERE machine_id = ? ORDER BY job, instance", machine_id),
      [&](const sqlite::Statement& row) {
        instances.emplace_back(InventoryInstance{std::string(row.text(0)), std::string(row.text(1)),
                                                 std::string(row.text(2)), row.real(3), row.real(4)},
                               row.integer(5));
      });
  return read ? Result<std::vector<std::pair<InventoryInstance, int64_t>>>(std::move(instances))
              : propagate(read);
}

Result<std::vector<LiveMachine>> LiveMachines::machines() {
  auto machines = registered();
  const auto known = machines ? inventory() : propagate(machines);
  if (!known) {
    return propagate(known);
  }
  merge_inventory(*known, *machines);
  return machines;
}

Result<std::vector<Census>> LiveMachines::censuses() {
  auto censuses = told_censuses();
  const auto known = censuses ? inventory_instances() : propagate(censuses);
  if (!known) {
    return propagate(known);
  }
  merge_inventory(*known, *censuses);
  return censuses;
}

}  // namespace plimsoll::store
