// What the operator's tools know of machines, whether those have ever been heard of or not, and what a cluster manager runs on them.
#pragma once

#include <string>

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

}  // namespace plimsoll::store
