// `plimsoll wsmeter evaluate`: from performance and quotas to a verdict.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/evaluation/evaluation.h"
#include "query/wsmeter/observed/observed_fleet.h"

namespace plimsoll::query {

struct EvaluationRequest {
  std::string current;  // platforms
  std::string other;
  EvaluationMethod method = {};
  std::optional<double> margin = {};  // that the metric is to have, above 0
};

// The first row is the metric, job "(all)"; then a row for each job compared, the largest weights first, then those left out:
//   job, weight, ratio, ratio_margin, observed, wanted, verdict, reason
// ratio is new over current performance, observed counts test observations, wanted is how many there should be where the margin asked for is not
// reached, reason says why a job is left out. Notes say the verdict, what it stands on, and what more to observe. `test` has the performance on
// the new platform; null: the fleet has it. Errors as platform_of() and compare_arms() have them.
Result<Table> evaluation_table(const ObservedFleet& fleet, const PerformanceTable* test,
                               const EvaluationRequest& request);

}  // namespace plimsoll::query
