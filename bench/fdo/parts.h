// What fdo_bench measures.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// How near counts of blocks that are made of samples come to exact ones (callgrind's), beside samples by instruction alone.
Status measure_flow(const Flags& flags, Report& report);

// How much CPU time programs save that are built with a profile of the daemon's samples, beside instrumented PGO of clang 19.
// Of the first also a profile of some 300 samples, and sources with lines inserted.
Status measure_json(const Flags& flags, Report& report);
Status measure_router(const Flags& flags, Report& report);
Status measure_compressor(const Flags& flags, Report& report);
// One that samples mislead: whether the report and `plimsoll fdo verify` say so.
Status measure_interpreter(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
