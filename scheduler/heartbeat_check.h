// What a registration or a heartbeat says of its machine comes from outside: bounds and sense. kInvalid names the field otherwise.
#pragma once

#include "base/result.h"
#include "proto/fleet.pb.h"

namespace plimsoll::scheduler {

// At most 10,000 instances, names of printable characters up to 4,096 bytes, finite numbers that are not negative, CPU
// times that 100,000 CPUs could have had.
Status check_census(const wire::HeartbeatRequest& request);

// At most 1,000 missing events, names of printable characters up to 128 bytes.
Status check_missing_events(const wire::RegisterRequest& request);

// At most 100 assignments, IDs and details of printable characters up to 4,096 bytes, states that there are; up to 32 kinds of application
// profiles each, of which no more endpoints answered than there are.
Status check_reports(const wire::HeartbeatRequest& request);

}  // namespace plimsoll::scheduler
