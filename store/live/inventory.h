// What the operator knows of machines, whether they have ever been heard of or not.
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
};

}  // namespace plimsoll::store
