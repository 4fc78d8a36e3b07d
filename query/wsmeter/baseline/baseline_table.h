// `plimsoll wsmeter baseline`: what the metric of the current fleet is made of.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct BaselineRequest {
  std::string current;  // a platform; empty: the only one there is
  std::string other;    // a platform beside it, whose jobs in common are looked at; empty: none
};

// A row for each job, the largest weights first; `top` is this job and all jobs above it:
//   job, weight, mean, stddev, relative_stddev, instances, top_coverage, top_stddev, stddev_vs_all_jobs, skewness, share_beyond_1_96_sd,
//   and beside another platform ratio, top_metric, metric_vs_all_jobs
// The current fleet's metric is 1 whatever jobs are taken, so what tells how well the top jobs stand for all is their metric's deviation
// where one instance of each is observed, sqrt(sum (w s)^2), and the other platform's metric; ..._vs_all_jobs is the relative difference from all jobs.
// skewness and share_beyond_1_96_sd are of standardized means of 4 instances (means_of_samples()). Notes have jobs in common and left out, normality, independence with a
// recommendation, and the machine-granularity model where the table has machines. Errors as read_performance(), read_job_quotas() and compare_arms()
// have them.
Result<Table> baseline_table(std::string_view performance_csv, std::string_view jobs_csv,
                             const BaselineRequest& request);

}  // namespace plimsoll::query
