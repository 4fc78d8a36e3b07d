// The limits that the kernel puts on this process: as wide as they may be where sampling needs room, and none for core files,
// which would hold what was read of other users' memory.
#pragma once

#include "base/result.h"

namespace plimsoll {

// Raises the limits of open files and locked memory as far as this user may, and forbids core files. Call while all
// privileges are there. Cannot fail for want of them: a lower limit is met with where it matters.
Status set_resource_limits();

}  // namespace plimsoll
