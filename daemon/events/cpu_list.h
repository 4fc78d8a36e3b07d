// The kernel's lists of CPUs ("0-3,8").
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::perf {

Result<std::vector<int>> parse_cpu_list(std::string_view text);

// The CPUs that are online, from /sys/devices/system/cpu/online.
Result<std::vector<int>> online_cpus();

}  // namespace plimsoll::perf
