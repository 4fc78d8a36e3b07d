// Hand-written SQL on the tables of our store in ClickHouse.
//
// Columns have the names that bench/store/peer.mjs gives them. The condition on the epoch's batches is part of each statement: without it, rows of
// attempts that were given up count, too (store/clickhouse/schema.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/store/queries.h"
#include "bench/store/stack_tree.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::bench {

inline constexpr uint32_t kMachineGroupsInSql = 64;

// One way to ask a question.
struct HandWritten {
  std::string checked;  // in the order of the columns: the answer that is compared
  std::string timed;    // the kShown largest sums; by machine group both are the same statement
};

// Makes views that have the condition and these names; and tables of the functions of all stacks, as the peers of measure_profiles() have them.
Status prepare_hand_written(store::clickhouse::Connection& connection, const StackTree& tree,
                            const store::clickhouse::EpochBatches& epoch);

// Columns of an answer: what the query groups by, then the sum.
std::vector<HandWritten> hand_written(const Query& query, const std::string& database);
// Of the kShown largest: what the query groups by, the machine group, then the sum.
std::vector<HandWritten> hand_written_by_machine_group(const Query& query);

}  // namespace plimsoll::bench
