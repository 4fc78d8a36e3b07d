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
// The JSON program by gcc 12: --format gcov for -fauto-profile, beside its own instrumented PGO.
Status measure_gcc(const Flags& flags, Report& report);
// The JSON program, linked with --emit-relocs and laid out again by llvm-bolt 19 with `plimsoll fdo bolt`: warnings, and CPU time saved.
Status measure_bolt(const Flags& flags, Report& report);
Status measure_compressor(const Flags& flags, Report& report);
// A range coder: branches that depend on the data.
Status measure_coder(const Flags& flags, Report& report);
// One that samples mislead: whether the report and `plimsoll fdo verify` say so.
Status measure_interpreter(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
