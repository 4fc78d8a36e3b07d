// What daemon_bench measures, one function a part. Each needs the privileges to sample the machine.
#pragma once

#include <cstdint>

#include "bench/harness/program.h"

namespace plimsoll::bench {

// What a daemon copies of each stack unless told otherwise.
inline constexpr uint32_t kStackBytes = 16 << 10;
// Of binaries whose unwind tables are compiled.
inline constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;

// Resident memory of plimsolld on a machine with 500 processes. Run it before what makes this process large (Usage).
Status measure_memory(const Flags& flags, Report& report);
// CPU time of plimsolld for a sample, what it takes to start, and the size of what it writes, beside perf.
Status measure_agent(const Flags& flags, Report& report);
// What sizes of stack copies and lower stack rates cost and give: for docs/unwinding.md.
Status measure_stack_options(const Flags& flags, Report& report);
// What a program pays for being sampled.
Status measure_sampled_program(const Flags& flags, Report& report);
// What threads that switch 100,000 times a second pay for off-cpu-ns.
Status measure_switches(const Flags& flags, Report& report);
// Compiling unwind tables of large binaries, and their size; needs no privileges.
Status measure_tables(const Flags& flags, Report& report);
// Unwinding captured stacks, beside libunwind.
Status measure_frames(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
