// `plimsoll wsmeter plan`: from a table of jobs to a table of how many instances of each to observe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::query {

struct PlanRequest {
  double margin = 0;  // that the metric is to have, as a share of it, above 0
  double z = 1.96;    // margin / deviation: 1.96 for 95 %
  double detect =
      0;  // an effect that is to be found, in place of a margin and z (plan_for_effect()); 0: none
  double power = 0.95;
  int64_t least = 4;
  bool is_finite_population = false;
  Rounding rounding = Rounding::kLeastCost;
};

// A row for each job of a CSV text, in its order: job, weight, observe, cost (of all that are observed). The text has the columns job, quota or quota_cores (of
// all instances together; weights are its shares), mean and stddev (of the job's performance, between instances), and may have instances (else as
// many as are wanted) and cost (of observing one instance; else its quota: quota / instances). Notes say what the plan costs, which margin it
// has, and by how much a better one could be cheaper. kInvalid for what makes no sense, with the line.
Result<Table> plan_table(std::string_view jobs_csv, const PlanRequest& request);

}  // namespace plimsoll::query
