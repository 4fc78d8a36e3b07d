// Two platforms side by side: the jobs that both have, each measured by its mean on the current one, and why others are left out.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/wsmeter/observed/job_quotas.h"
#include "query/wsmeter/observed/performance.h"

namespace plimsoll::query {

// Performance is normalized: divided by the job's mean on the current platform.
struct ComparedJob {
  JobQuota job;
  double weight = 0;            // share of the quota of the jobs compared
  double current_mean = 0;      // as it was measured
  std::vector<double> current;  // by instance; the mean is 1
  std::vector<double> other;
  double kurtosis = 3;  // of the current platform's instances, as kurtosis_of() has it

  // What observing one of the other platform's instances costs: as said, or the quota of one of `instances`.
  double cost_of_one(int64_t instances) const;
};

struct ExcludedJob {
  std::string job;
  double quota = 0;
  std::string reason;
};

struct Comparison {
  std::vector<ComparedJob> jobs;  // the largest weights first, then by name
  std::vector<ExcludedJob> excluded;
  double coverage = 0;  // the compared jobs' share of all quota
};

struct MinInstances {
  size_t current = 1;
  size_t other = 2;  // one has no deviation
};

// kNotFound where no job is left, with the reason for the one with the most quota.
Result<Comparison> compare_arms(const InstancesByJob& current, const InstancesByJob& other,
                                std::span<const JobQuota> quotas, MinInstances min_instances = {});

}  // namespace plimsoll::query
