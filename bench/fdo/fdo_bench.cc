// Measures compiler profiles made of samples: see docs/fdo.md.
#include <array>

#include "bench/fdo/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 1> kParts{{
    {"flow", "counts of blocks made of samples, beside exact ones", measure_flow},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures compiler profiles made of samples.", plimsoll::bench::kParts,
                                      argc, argv);
}
