// Measures the store of rows: see docs/benchmarks.md.
#include <array>

#include "bench/store/parts.h"

namespace plimsoll::bench {
namespace {

const std::array kParts{
    Part{"memory", "how fast this machine reads and copies memory", measure_memory_of_store},
    Part{"profiles", "rows shaped like real profiles: queries and size, beside DuckDB and ClickHouse",
         measure_profiles},
    Part{"worst", "the same on rows of independent columns", measure_worst},
    Part{"replayed", "the same on rows of the recordings in PLIMSOLL_CORPUS, without goals",
         measure_replayed},
    Part{"growth", "time and memory by number of rows, to 100 million; --full: 500 million", measure_growth},
    Part{"history",
         "200,000 profiles of 30 days, rolled up: until ready, and questions about them; --full: a million; "
         "--dir keeps the data directory",
         measure_history},
    Part{"ingest", "raw profiles to visible rows", measure_ingest},
    Part{"visibility", "from a daemon's upload to a running server until a reader sees its rows",
         measure_visibility},
};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program(
      "Measures the store of rows: what queries take, what rows take, and what it takes to make them.",
      plimsoll::bench::kParts, argc, argv);
}
