// Measures what bursts, marks and searches cost: see docs/bursts.md.
#include <array>

#include "bench/bursts/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 6> kBurstsParts{{
    {"marks", "a mark outside of a burst and inside, beside a look at the clock and bare getpid() calls",
     measure_marks},
    {"recording", "events that a burst records without loss, and their size in a file", measure_recording},
    {"between", "system calls and switches between bursts, beside those without a recording",
     measure_between},
    {"server", "a request server with bursts of 1 % of the time, beside the same without", measure_server},
    {"search", "events of a burst searched in a second, beside the same question to SQLite", measure_search},
    {"day", "a search over all bursts of a day, from files", measure_day},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures what bursts, marks and searches cost.",
                                      plimsoll::bench::kBurstsParts, argc, argv);
}
