// What symbolizer_bench measures, one function a part.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// Making the table of a large binary: time, memory, size; beside llvm-gsymutil.
Status measure_building(const Flags& flags, Report& report);
// Opening the table, and looking addresses up in it; beside llvm-gsymutil, llvm-symbolizer, eu-addr2line and addr2line.
Status measure_look_ups(const Flags& flags, Report& report);
// What a process that parses one binary costs, made by a zygote; beside a program that is started.
Status measure_processes(const Flags& flags, Report& report);
// Annotated code of a function of 10,000 instructions, from the order to the text.
Status measure_annotating(const Flags& flags, Report& report);
// How many tables symbolizer workers bring in a second, one to three of them; beside the server without workers.
Status measure_workers(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
