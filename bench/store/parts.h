// What store_bench measures, one function a part.
#pragma once

#include "bench/harness/program.h"

namespace plimsoll::bench {

// Of a measurement, whose median counts.
inline constexpr int kRounds = 5;

// What the machine's memory gives at most, beside which the queries' bandwidth stands.
Status measure_memory_of_store(const Flags& flags, Report& report);
// Queries and size on generated rows, beside DuckDB and ClickHouse.
Status measure_profiles(const Flags& flags, Report& report);
Status measure_worst(const Flags& flags, Report& report);
// Likewise on rows of recordings below PLIMSOLL_CORPUS.
Status measure_replayed(const Flags& flags, Report& report);
// Raw profiles to visible rows.
Status measure_ingest(const Flags& flags, Report& report);
// From a daemon's upload to the rows that a reader sees.
Status measure_visibility(const Flags& flags, Report& report);
// Profiles of 30 days, rolled up, a million in full: until a server answers, and questions about all of them. Of a directory that is kept
// the questions and the start alone.
Status measure_history(const Flags& flags, Report& report);
// Time and memory by number of rows.
Status measure_growth(const Flags& flags, Report& report);

// With --store clickhouse (bench/store/clickhouse). The rows of measure_profiles(): inserts and size; queries beside hand-written SQL and the
// local store.
Status measure_clickhouse(const Flags& flags, Report& report);
// A tenth of these rows: the same queries beside the local store alone.
Status measure_clickhouse_crossover(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
