// The parts of bursts_bench.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

Status measure_marks(const Flags& flags, Report& report);
Status measure_search(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
