// `machines`: which machines there are, and what runs on them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "store/fleet.h"

namespace plimsoll::query {

struct MachinesRequest {
  bool by_instance = false;
  int64_t now_ns = 0;    // wall clock: who is live
  bool is_past = false;  // `now_ns` is a time of the past that was asked for
};

// Parameters: by (machine or instance), at (a time: the fleet as it was then).
Result<MachinesRequest> parse_machines(const Parameters& parameters, int64_t now_ns);

// "at": a time of the past, in the place of `now_ns`.
Parameter at_parameter(int64_t& now_ns, bool& is_past);

// What heartbeats have told.
struct LiveFleet {
  std::vector<store::LiveMachine> machines;
  std::vector<store::Census> censuses;  // of the past there are none
  // Of the past instead: what each machine had of which job. Of no machine: this is now.
  store::PlacedJobs past_jobs = {};

  // CPUs that each job may have, by the newest census of each machine; jobs without a quota are not there.
  std::map<std::string, double, std::less<>> quotas_by_job() const;

  // Empty where no machine has registered.
  static Result<LiveFleet> load(const store::Fleet& fleet);
  // As it was then. kNotFound where that is not known (any more).
  static Result<LiveFleet> load_past(int64_t time_ns, const store::Fleet& fleet);
  // Of the time that is asked about.
  template <typename Request>
  static Result<LiveFleet> load(const Request& request, const store::Fleet& fleet) {
    if constexpr (requires { request.is_past; }) {
      return request.is_past ? load_past(request.now_ns, fleet) : load(fleet);
    } else {
      return load(fleet);
    }
  }
};

// A row for each machine that has registered or sent a profile, live ones first, then by ID:
//   machine, hostname, state (live, gone, or profiles: never registered), platform, cores, architecture, kernel,
//   datacenter, cluster, rack, owner, version (of plimsolld), first_seen, last_seen, instances, cpu_quota, cpu_used,
//   missing_events (that plimsolld knows by name and the machine cannot count), refused (profiles that say what cannot be),
//   refused_why (of the newest)
// or, by instance, a row for each instance of the newest censuses, the busiest first:
//   machine, job, instance, container, cpu_quota, weight, cpu_used, seen
// CPUs: quota as the tightest limit says, of a machine the sum of its instances'; used as CPU time over the census's
// interval. Absent: no quota, no census, none yet to compare with; what was used in the past. The coverage counts
// machines; its times are those of the first and the last sign of any of them.
Table machines(const MachinesRequest& request, const Snapshot& snapshot, const LiveFleet& fleet);

}  // namespace plimsoll::query
