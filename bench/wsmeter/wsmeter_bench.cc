// Measures planning with WSMeter: see docs/benchmarks.md.
#include <array>

#include "bench/wsmeter/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 1> kParts{{
    {"plans", "how many instances to observe of 5,000 and of a million jobs", measure_plans},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures planning with WSMeter.", plimsoll::bench::kParts, argc, argv);
}
