// Measures what bursts, marks and searches cost: see docs/bursts.md.
#include <array>

#include "bench/bursts/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 2> kBurstsParts{{
    {"marks", "a mark outside of a burst and inside, beside a look at the clock and bare getpid() calls",
     measure_marks},
    {"search", "events of a burst searched in a second, beside the same question to SQLite", measure_search},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures what bursts, marks and searches cost.",
                                      plimsoll::bench::kBurstsParts, argc, argv);
}
