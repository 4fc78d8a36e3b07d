// What fdo_bench measures.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// How near counts of blocks that are made of samples come to exact ones (callgrind's), beside samples by instruction alone.
Status measure_flow(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
