// Limits of the harm that measuring may do, and what must not be measured all at once: the instances of a job, the machines of a platform or a rack.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "scheduler/draws/population.h"
#include "scheduler/safety/spreading.h"

namespace plimsoll::scheduler {

// Shares of all that there are, above 0 and at most 1.
struct SafetyLimits {
  double share_of_job = 0.1;       // of its instances
  double share_of_platform = 0.1;  // of its machines
  double share_of_rack = 0.1;      // likewise
  double share_of_cpu = 0.0001;    // of the fleet's CPU time, which daemons may take on average over an hour
};

// kInvalid, with the field, for shares that are none.
Status check(const SafetyLimits& limits);

struct LimitedGroups {
  GroupLimits limits;
  std::vector<std::vector<GroupPart>> parts;  // of each machine that was asked about, in that order
};

// Of some machines of a fleet, by their places in it; a rack without a name is none. Costs a look-up for each job of
// each machine in the fleet.
LimitedGroups limited_groups(std::span<const Candidate> fleet, std::span<const uint32_t> machines,
                             const SafetyLimits& limits);

}  // namespace plimsoll::scheduler
