// The inventory of machines, and of what runs on them, as an operator's tools write it.
//
// CSV whose first line names columns, or a JSON list of objects with those names, told apart by the first character. Other columns are left
// alone: such files have more readers than us. Both parsers give kCorrupt or kInvalid, saying where.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/live/inventory.h"

namespace plimsoll::scheduler {

// machine (which each has, none twice), datacenter, cluster, rack, platform, owner.
Result<std::vector<store::InventoryMachine>> parse_inventory(std::string_view text);

// machine and job (which each has), instance (empty: all of the job on that machine), quota_cpus, weight; no three of the first twice.
Result<std::vector<store::InventoryInstance>> parse_inventory_instances(std::string_view text);

}  // namespace plimsoll::scheduler
