// What a writer must know of the replicas of its tables before it goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::store::clickhouse {

// What the replicas of a table share in ZooKeeper or Keeper. Shards may have the same one, and databases of the same name.
std::string replica_path(const ConnectionOptions& options, std::string_view table);

// kUnavailable while a mark waits for its quorum, where the server shows it nevertheless (ServerVersion::has_sequential_reads): the only replica that
// has it may be lost. Nothing where tables are not replicated.
Status expect_quorum(Connection& connection);

// kUnavailable where a replica has marks of the epoch seconds after they were dropped. A replica drops each table by itself: were its rows gone before
// its marks, a question there would count a part of them. One that does not answer answers no question either.
Status expect_marks_gone(const ConnectionOptions& options, uint32_t epoch);

}  // namespace plimsoll::store::clickhouse
