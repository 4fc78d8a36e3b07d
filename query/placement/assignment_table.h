// `plimsoll assign`: from tables of costs, jobs and platforms to a table of what runs where (docs/placement.md).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "query/placement/assignment.h"
#include "query/placement/assignment_input.h"
#include "query/table/table.h"

namespace plimsoll::query {

enum class AssignmentRows : uint8_t {
  kPlacement,  // job, platform, load, load_share, cost, cost_margin, cost_kind, use, alternative, lead, lead_margin, certain
  kPlatform,  // platform, capacity, use, use_share, todays_use, jobs, shadow_price
  kMove,      // job, from, to, load, saving, saving_margin, lead, lead_margin, certain
};

struct AssignmentRequest {
  AssignmentTexts texts;
  std::optional<double> unknown_at_most = {};  // nothing: unknown pairs are left out
  AssignmentRows rows = AssignmentRows::kPlacement;
};

// Loads are instructions a second, costs cycles or nanoseconds an instruction, use and capacity their product. Notes say what the plan costs, what
// it saves, which platforms are full, how many placements and moves are certain, and what rests on bounds. kInvalid for what makes no sense, with
// the line; kNotFound where no placement fits, with the jobs and platforms to blame. Saving is of the plan: moves that make room save less than
// nothing themselves.
Result<Table> assignment_table(const AssignmentRequest& request);

}  // namespace plimsoll::query
