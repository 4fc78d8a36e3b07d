// Measures what bursts and marks cost: see docs/bursts.md.
#include <array>

#include "bench/bursts/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 1> kBurstsParts{{
    {"marks", "a mark outside of a burst and inside, beside a look at the clock and bare getpid() calls",
     measure_marks},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures what bursts and marks cost.", plimsoll::bench::kBurstsParts,
                                      argc, argv);
}
