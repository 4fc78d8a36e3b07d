// Measures plimsolld and its parts: see docs/benchmarks.md.
#include <array>

#include "bench/daemon/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 7> kParts{{
    {"memory", "resident memory with 500 processes on the machine", measure_memory},
    {"agent", "CPU time a sample, start-up, bytes a sample; beside perf record and perf script",
     measure_agent},
    {"stack-options", "CPU time a sample and share of whole stacks, by size of the copies and stack rate",
     measure_stack_options},
    {"sampled-program", "what the sampled program pays for a sample with its stack", measure_sampled_program},
    {"off-cpu", "what threads that switch often pay for off-cpu-ns", measure_switches},
    {"tables", "unwind tables of large binaries: size and time to compile", measure_tables},
    {"frames", "unwinding a captured stack; beside libunwind", measure_frames},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program(
      "Measures plimsolld: what it takes, and what it takes from the programs that it samples.",
      plimsoll::bench::kParts, argc, argv);
}
