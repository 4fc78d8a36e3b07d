// The two things that WSMeter computes with.
#pragma once

#include <vector>

#include "query/wsmeter/observed/job_quotas.h"
#include "query/wsmeter/observed/performance.h"

namespace plimsoll::query {

struct ObservedFleet {
  PerformanceTable performance;
  std::vector<JobQuota> jobs;
};

}  // namespace plimsoll::query
