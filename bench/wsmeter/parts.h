// What wsmeter_bench measures, one function a part.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// The time of a plan of how many instances to observe, and by how much a cheaper one is not ruled out.
Status measure_plans(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
