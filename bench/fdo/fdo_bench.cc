// Measures compiler profiles made of samples: see docs/fdo.md.
#include <array>

#include "bench/fdo/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 8> kParts{{
    {"flow", "counts of blocks made of samples, beside exact ones", measure_flow},
    {"json", "CPU time of a JSON parser built with our profile, beside -O2 and instrumented PGO",
     measure_json},
    {"gcc", "the same by gcc 12 (--format gcov)", measure_gcc},
    {"bolt", "warnings and CPU time of llvm-bolt with our profile of the JSON parser", measure_bolt},
    {"router", "the same of a program of Boost's Spirit, Geometry and Graph", measure_router},
    {"compressor", "the same of a compressor", measure_compressor},
    {"coder",
     "a range coder, whose branches cannot be predicted: a profile that is called useful does no harm",
     measure_coder},
    {"interpreter", "a switch of 500 instructions: the report warns, verify rejects what is slower",
     measure_interpreter},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures compiler profiles made of samples.", plimsoll::bench::kParts,
                                      argc, argv);
}
