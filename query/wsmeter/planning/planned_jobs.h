// The table that a plan is made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/wsmeter/planning/observation_plan.h"

namespace plimsoll::query {

struct NamedJob {
  std::string name;
  PlannedJob planned;
};

struct PlannedTable {
  std::vector<NamedJob> jobs;         // at least one
  std::vector<std::string> left_out;  // those of which no stddev is known
  double left_out_share = 0;          // of all quota
};

// A CSV text, gzipped or not, with the columns of read_job_quotas() (quota may be called weight, as `wsmeter baseline` prints it), mean and stddev
// (of the job's performance, between instances). Weights are shares of the quota of the jobs that are not left out, as those are with an empty stddev. Without instances there are as many as are wanted; without cost,
// observing one costs its quota: quota / instances. kInvalid for what makes no sense, with the line.
Result<PlannedTable> read_planned_jobs(std::string_view content);

}  // namespace plimsoll::query
