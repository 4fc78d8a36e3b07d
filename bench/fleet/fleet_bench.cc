// Measures what scheduler and server take for large fleets: see docs/benchmarks.md.
#include <array>

#include "bench/fleet/parts.h"

namespace plimsoll::bench {
namespace {

const std::array<Part, 6> kParts{{
    {"draws", "a draw over a million machines in a thousand strata, with minima for strata and jobs",
     measure_draws},
    {"heartbeats", "a server with 10,000 daemons that send heartbeats, and profiles when drawn",
     measure_heartbeats},
    {"heartbeats_short",
     "the same of daemons that open a connection for each request (--full: 100,000 of them)",
     measure_short_heartbeats},
    {"roles",
     "ingest servers in front of a server with its rows in ClickHouse, beside one server (--full: 100,000 "
     "daemons)",
     measure_roles},
    {"uploads", "a server to which ten times as many profiles are offered as it can take", measure_uploads},
    {"siege", "what people wait for while others do what they can against the server", measure_siege},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program("Measures the scheduler with large fleets.", plimsoll::bench::kParts,
                                      argc, argv);
}
