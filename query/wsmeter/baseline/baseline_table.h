// `plimsoll wsmeter baseline`: what the metric of the current fleet is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/observed/observed_fleet.h"

namespace plimsoll::query {

struct BaselineRequest {
  std::string current;  // a platform; empty: the only one there is
  std::string other;    // a platform beside it, whose jobs in common are looked at; empty: none
};

// A job of the current fleet; `top` is this job and all jobs above it.
struct BaselineRow {
  std::string job;
  double weight = 0;
  double mean = 0;
  std::optional<double> stddev = {};  // nothing: there is but one instance
  std::optional<double> relative_stddev = {};
  int64_t instances = 0;
  // The current fleet's metric is 1 whatever jobs are taken, so what tells how well the top jobs stand for all is their metric's
  // deviation where one instance of each is observed, sqrt(sum (w s)^2), and the other platform's metric; ..._vs_all_jobs is the
  // relative difference from all jobs.
  double top_coverage = 0;
  double top_stddev = 0;
  double stddev_vs_all_jobs = 0;
  // Of standardized means of 4 instances (means_of_samples()): what is beyond 1.96 standard deviations is tail_share.
  std::optional<double> skewness = {};
  std::optional<double> tail_share = {};
  struct Other {
    double ratio = 0;
    double top_metric = 0;
    double metric_vs_all_jobs = 0;
  };
  Other other = {};  // set where Baseline::has_other
};

struct Baseline {
  bool has_other = false;
  std::vector<BaselineRow> rows = {};  // the largest weights first
  // Jobs in common and left out, normality, independence with a recommendation, and the machine-granularity model where machines are known.
  std::vector<std::string> notes = {};
};

// Errors as platform_of() and compare_arms() have them.
Result<Baseline> baseline_of(const ObservedFleet& observed, const BaselineRequest& request);

//   job, weight, mean, stddev, relative_stddev, instances, top_coverage, top_stddev, stddev_vs_all_jobs, skewness, share_beyond_1_96_sd,
//   and beside another platform ratio, top_metric, metric_vs_all_jobs
Table table_of(const Baseline& baseline);

}  // namespace plimsoll::query
