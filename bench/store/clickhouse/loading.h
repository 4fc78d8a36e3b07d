// Generated rows on their way into ClickHouse: through our sink, and by hand.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bench/store/generator.h"
#include "bench/store/stack_tree.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::bench {

// What all batches but the first took. The first has the entries of all stacks.
struct Loaded {
  uint64_t rows = 0;
  double sink_s = 0;
  double by_hand_s = 0;
};

// Commits the origins 1 to `origins` to a new store, in batches of as many profiles as the server makes, and inserts the rows of each batch,
// encoded beforehand, into a table of the same columns, which is dropped in the end. The parts of `rows` and `origins` are merged when it
// returns.
Result<Loaded> load_into_clickhouse(const RowGenerator& generate, uint32_t origins, const StackTree& tree,
                                    const store::clickhouse::ConnectionOptions& options);

}  // namespace plimsoll::bench
