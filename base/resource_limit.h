// The limits that the kernel puts on a process.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace plimsoll {

// Raises a limit of this process to its hard limit, and that to `wanted`, if it is lower and this user may. Returns what holds
// then: less than `wanted` is no failure. `name` is what errors call it ("open files").
Result<uint64_t> raise_limit(__rlimit_resource resource, uint64_t wanted, std::string_view name);

}  // namespace plimsoll
