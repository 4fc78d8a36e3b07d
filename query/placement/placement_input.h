// The tables that `plimsoll assign` takes, as a problem with names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/placement/placement.h"
#include "query/placement/tables/placement_tables.h"

namespace plimsoll::query {

struct PlacementInput {
  CostUnit unit = CostUnit::kCycles;
  std::vector<std::string> jobs;  // that have a load
  std::vector<std::string> platforms;
  PlacementProblem problem;
  std::vector<std::string> idle_jobs;  // without a load: nothing to place
  std::vector<std::string>
      lost_jobs;             // no cost of theirs is known anywhere; the problem has no pairs of them then
  size_t unknown_pairs = 0;  // left out, or bounded
};

// Pairs that the costs do not name are left out; or, with `max_unknown_cost`, they cost at most that many times the most that the job is known to
// cost anywhere. kInvalid, with the table's name and the line, for what makes no sense.
Result<PlacementInput> placement_input(const PlacementTables& tables, std::optional<double> max_unknown_cost);

// Load of a job on a platform.
struct TodaysLoad {
  uint32_t job = 0;
  uint32_t platform = 0;
  double load = 0;
};
// By job, then platform. Each job's loads come to that of the problem, to a millionth.
Result<std::vector<TodaysLoad>> todays_loads(const TodayTable& today, const PlacementInput& input);

}  // namespace plimsoll::query
