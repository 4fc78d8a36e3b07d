// `plimsoll assign`: from tables of costs, jobs and platforms to a table of what runs where (docs/placement.md).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "query/placement/placement_input.h"
#include "query/placement/placement_plan.h"
#include "query/table/table.h"

namespace plimsoll::query {

enum class PlacementRows : uint8_t {
  kPlacement,  // job, platform, load, load_share, cost, cost_margin, cost_kind, capacity_used, alternative, cost_advantage, cost_advantage_margin, certain
  kPlatform,  // platform, capacity, capacity_used, capacity_used_share, todays_capacity_used, jobs, shadow_price
  kMove,      // job, from, to, load, saving, saving_margin, cost_advantage, cost_advantage_margin, certain
  kSummary,  // one row: todays_cost, planned_cost, saving, saving_margin, saving_low, saving_high, saving_share, jobs, moves, certain_moves, certain_saving
};

struct PlacementRequest {
  PlacementTables tables;
  std::optional<double> max_unknown_cost = {};  // nothing: unknown pairs are left out
  PlacementRows rows = PlacementRows::kPlacement;
};

// Loads are instructions a second, costs cycles or nanoseconds an instruction, use and capacity their product. Notes say what the plan costs, what
// it saves, which platforms are full, how many placements and moves are certain, and what rests on bounds. kInvalid for what makes no sense, with
// the line; kNotFound where no placement fits, with the jobs and platforms to blame. Saving is of the plan: moves that make room save less than
// nothing themselves.
Result<Table> placement_table(const PlacementRequest& request);

}  // namespace plimsoll::query
