// Measures the store of rows: see docs/benchmarks.md.
#include <algorithm>
#include <array>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

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

const std::array kPartsOfClickHouse{
    Part{"clickhouse",
         "rows shaped like real profiles: inserts, size, and queries beside hand-written SQL and local rows",
         measure_clickhouse},
    Part{"crossover", "a tenth of these rows: queries beside local rows", measure_clickhouse_crossover},
};

constexpr std::string_view kPurpose =
    "Measures the store of rows: what queries take, what rows take, and what it takes to make them.\n"
    "Rows are in local files; with --store clickhouse they are in ClickHouse, and its parts are measured.";

int run(std::vector<char*> arguments) {
  std::span<const Part> parts = kParts;
  const auto option = std::ranges::find(arguments, std::string_view("--store"));
  if (option != arguments.end()) {
    if (arguments.end() - option < 2 || std::string_view(*(option + 1)) != "clickhouse") {
      std::cerr << "store_bench: --store takes \"clickhouse\" (see --help)\n";
      return 2;
    }
    arguments.erase(option, option + 2);
    parts = kPartsOfClickHouse;
  }
  return run_program(kPurpose, parts, static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run({argv, argv + argc});
}
