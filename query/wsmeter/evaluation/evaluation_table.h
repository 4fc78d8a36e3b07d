// `plimsoll wsmeter evaluate`: from tables of performance and jobs to a verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/evaluation/evaluation.h"

namespace plimsoll::query {

struct EvaluationRequest {
  std::string current;  // platforms
  std::string other;
  EvaluationMethod method = {};
  std::optional<double> margin = {};  // that the metric is to have, above 0
};

struct EvaluationTables {
  std::string_view performance;  // CSV texts
  std::string_view jobs;
  std::optional<std::string_view> test;  // performance on the new platform; nothing: it is in `performance`
};

// The first row is the metric, job "(all)"; then a row for each job compared, the largest weights first, then those left out:
//   job, weight, ratio, ratio_margin, observed, wanted, verdict, reason
// ratio is new over current performance, observed counts test observations, wanted is how many there should be where the margin asked for is not
// reached, reason says why a job is left out. Notes say the verdict, what it stands on, and what more to observe. Errors as read_performance(),
// read_job_quotas() and compare_arms() have them.
Result<Table> evaluation_table(const EvaluationTables& tables, const EvaluationRequest& request);

}  // namespace plimsoll::query
