// What placement_bench measures.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// The CPU time of a plan, beside GLPK's for the same problem, and how far the two costs are apart.
Status measure_placements(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
