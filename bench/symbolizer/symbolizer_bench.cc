// Measures symbol tables: see docs/benchmarks.md.
#include <array>

#include "bench/symbolizer/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 5> kParts{{
    {"build", "making the table of a large binary; beside llvm-gsymutil", measure_building},
    {"look-up", "opening it, and looking addresses up; beside GSYM, llvm-symbolizer, eu-addr2line, addr2line",
     measure_look_ups},
    {"process", "the process that parses one binary, made by a zygote; beside starting the program",
     measure_processes},
    {"annotate", "annotated code of a function of 10,000 instructions", measure_annotating},
    {"workers",
     "tables by one to three symbolizer workers, and with one killed each second; beside the server alone",
     measure_workers},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program(
      "Measures symbol tables: what it takes to make one, to open it, and to look addresses up.",
      plimsoll::bench::kParts, argc, argv);
}
