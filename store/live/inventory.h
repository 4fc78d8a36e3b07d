// What the operator's tools know of machines, whether those have ever been heard of or not, and what a cluster manager
// runs on them.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/live/live_machine.h"

namespace plimsoll::store {

// Empty: nothing is said of it.
struct InventoryMachine {
  std::string id;
  std::string datacenter = {};
  std::string cluster = {};
  std::string rack = {};
  std::string platform = {};
  std::string owner = {};

  bool operator==(const InventoryMachine&) const = default;
};

// An instance of a job on a machine, or without the instance's name all of them there.
struct InventoryInstance {
  std::string machine_id;
  std::string job;
  std::string instance = {};
  double quota_cpus = 0;  // of all of them together; 0: nothing is said of it
  double weight = 0;      // of each, as cpu.weight has it; 0: nothing is said of it

  bool operator==(const InventoryInstance&) const = default;
};

// What the inventory says of place and platform holds; machines without a heartbeat are added. Both are by ID.
void merge_inventory(const std::vector<InventoryMachine>& inventory, std::vector<LiveMachine>& machines);

// What the inventory says of an instance holds: its quota and weight are put in the place of those of the instance of
// that name, or shared out among those of the job; instances that are not there are added, without CPU time.
void merge_inventory(const InventoryInstance& entry, std::vector<wire::InstanceUsage>& instances);

// The same for many machines. Both are by machine; entries without an instance's name stand before others of their job,
// each with when it was read.
void merge_inventory(const std::vector<std::pair<InventoryInstance, int64_t>>& inventory,
                     std::vector<Census>& censuses);

}  // namespace plimsoll::store
