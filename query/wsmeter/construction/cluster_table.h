// `plimsoll wsmeter cluster`: which machines to take for a test.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/table/table.h"
#include "query/wsmeter/observed/observed_fleet.h"

namespace plimsoll::query {

struct ClusterRequest {
  std::string current;        // platform; empty: the only one there is
  int64_t min_instances = 4;  // instances of a job, for it to be covered
  double coverage = 0.9;      // of the quota, by covered jobs; above 0, up to 1
  double z = 1.96;            // margin / deviation
  int64_t tries = 1000;       // clusters of random machines, at least 1
  uint64_t seed = 1;
};

// Random machines are taken until enough jobs are covered, again and again; the rows are the machines of the best of these clusters, that with the fewest
// machines (of these, with the least quota), in the order in which they were drawn: machine, instances, quota, coverage (with those above it).
// Notes say how many machines clusters have on average, and how well the metric of the covered jobs would be known. Observations must name their
// machines. kNotFound where all machines together do not suffice, with what they cover.
Result<Table> cluster_table(const ObservedFleet& observed, const ClusterRequest& request);

}  // namespace plimsoll::query
