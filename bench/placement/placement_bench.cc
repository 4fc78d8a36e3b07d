// Measures how fast jobs are placed on platforms: see docs/placement.md.
#include <array>

#include "bench/placement/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 1> kParts{{
    {"plans", "CPU time of a plan, beside GLPK's for the same problem", measure_placements},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures how fast jobs are placed on platforms.",
                                      plimsoll::bench::kParts, argc, argv);
}
