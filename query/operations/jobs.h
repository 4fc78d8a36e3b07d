// `jobs`: what runs on the fleet, by the newest censuses of the machines that are there; or what ran on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct JobsRequest {
  size_t limit = 20;
  int64_t now_ns = 0;    // wall clock: who is live
  bool is_past = false;  // `now_ns` is a time of the past that was asked for
};

// Parameters: limit, at (a time: what ran then).
Result<JobsRequest> parse_jobs(const Parameters& parameters, int64_t now_ns);

// A row for each job that runs on live machines, those that use most CPU time first, then by name:
//   job, machines (that it has an instance on), instances
//   cpu_quota: CPUs that all its instances may have together; absent: no instance has a limit. unlimited: instances without one
//   cpu_used: CPUs that were busy with it; absent: no machine has had two censuses yet, or it is of the past
//   cpu_used_share: of what all jobs use
// Where there are none, a note says why. The coverage counts the live machines, and those of them that have sent a
// census; its times are those of the censuses, or the one that was asked for.
Table jobs(const JobsRequest& request, const LiveFleet& fleet);

}  // namespace plimsoll::query
