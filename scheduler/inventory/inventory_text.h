// The inventory of machines as an operator's tools write it.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/live/inventory.h"

namespace plimsoll::scheduler {

// CSV whose first line names columns, or a JSON list of objects with those names, told apart by the first character: machine (which each has, none
// twice), datacenter, cluster, rack, platform, owner. Others are left alone: such files have more readers than us. kCorrupt or kInvalid, saying
// where.
Result<std::vector<store::InventoryMachine>> parse_inventory(std::string_view text);

}  // namespace plimsoll::scheduler
