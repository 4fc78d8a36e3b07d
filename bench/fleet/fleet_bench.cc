// Measures what the scheduler takes for large fleets: see docs/benchmarks.md.
#include <array>

#include "bench/fleet/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 1> kParts{{
    {"draws", "a draw over a million machines in a thousand strata, with minima for strata and jobs",
     measure_draws},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures the scheduler with large fleets.", plimsoll::bench::kParts,
                                      argc, argv);
}
