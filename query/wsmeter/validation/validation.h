// `plimsoll wsmeter validate`: how often the intervals of random test clusters hold the truth, and how often they tell it from the current fleet (as
// the WSMeter paper validates its model: Lee et al., ASPLOS 2018, section 5).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/observed/observed_fleet.h"
#include "query/wsmeter/planning/effect_plan.h"

namespace plimsoll::query {

enum class ClusterModel : uint8_t { kJob, kMachine, kBoth };

struct ValidationRequest {
  std::string current;  // platforms, which may be the same
  std::string other;
  EffectGoal goal = {.is_finite_population = true};  // what test clusters are planned for
  int64_t trials = 2000;                             // at least 1
  double scale = 1;                                  // of the new arm's performance, above 0
  double share = 1;                                  // of the quota that it applies to, 0 to 1
  uint64_t seed = 1;
  ClusterModel model = ClusterModel::kJob;
};

// A row for each model: model, trials, interval_coverage, power (shares of the trials), margin (the mean), coverage (of quota, by the jobs
// compared), cost (the mean of a test cluster). Of each job, as many instances are drawn as a plan from the current platform's deviations says; of
// machines, as many as bring the margin that the job clusters have on average. Notes say what was asked for and what is true. kInvalid for what makes no
// sense. 2,000 clusters of 3,000 instances take about a second.
Result<Table> validation_table(const ObservedFleet& fleet, const ValidationRequest& request);

}  // namespace plimsoll::query
