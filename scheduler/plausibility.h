// Whether a profile claims what its machine can have done: one that does not would speak for the fleet.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/profile.pb.h"

namespace plimsoll::scheduler {

// kInvalid, with the field, where the window is longer than a day, ends over a day after `now_ns` (wall clock) or begins before 2000, or an
// event counts more than the machine's CPUs can do in it: of CPU time what they have, of anything else what no processor reaches; of what
// is allocated at a time, many times its memory. The value that counts is the one of rows, with what multiplexing scales it by.
Status check_plausible(const wire::RawProfile& profile, int64_t now_ns);

}  // namespace plimsoll::scheduler
