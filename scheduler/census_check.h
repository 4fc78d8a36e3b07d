// What a heartbeat says of its machine's instances comes from outside: bounds and sense.
#pragma once

#include "base/result.h"
#include "proto/fleet.pb.h"

namespace plimsoll::scheduler {

// At most 10,000 instances, names of printable characters up to 4,096 bytes, finite numbers that are not negative, CPU
// times that 100,000 CPUs could have had. kInvalid names the field otherwise.
Status check_census(const wire::HeartbeatRequest& request);

}  // namespace plimsoll::scheduler
