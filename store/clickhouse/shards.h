// The rows of a store, split over several databases by machine.
//
// The main database is shard 0. It has all tables; further shards have rows alone, under the IDs of the main one's dictionaries. The rows of a
// batch are written to all shards under the number of its attempt, and its mark to the main one last (batches.h). So a batch counts on all shards
// or on none, and a question asks all of them: where a machine's rows are matters to no answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/entry_rows.h"
#include "store/model/dictionaries.h"
#include "store/model/row.h"

namespace plimsoll::store::clickhouse {

// Of the shards beside the main database, in their order: shard 1 is the first.
using ShardPools = std::vector<std::shared_ptr<ConnectionPool>>;

// Whose rows a database has, as its table `directories` notes it: of a data directory, or of a shard of one. Empty: it has none yet.
Result<std::string> noted_owner(Queryable& database);

ShardPools pools_of(std::span<const ConnectionOptions> further);

// For messages: "shard 1 of the rows (database plimsoll at http://ch3:8123)".
std::string shard_name(const ConnectionOptions& options);

// Which of so many databases, the main one included, has the rows of a machine: the XXH3 hash (64 bits) of its ID, modulo their number. The same for
// all times and epochs, as long as no shard is added.
uint32_t shard_of_machine(std::string_view machine_id, size_t shards);
std::vector<uint32_t> shards_of_machines(std::span<const MachineEntry> machines, size_t shards);

// Fails with `code` where rows of the batch are in more databases than a process knows of: it would count a part of them.
Status expect_all_shards(const BatchMark& newest, size_t shards, ErrorCode code, std::string_view database);

// For the process that writes: makes the tables of further shards, and makes each shard this directory's, and this store's. `main` is prepared, and
// its owner settled. kConflict for a database that has rows of another directory or another store, that is listed twice, or in another place than
// before, and for a shard that had rows and is empty now.
Status settle_shards(Connection& main, std::span<const ConnectionOptions> further,
                     std::string_view directory_id);

// For readers: whether each shard answers, and has rows of this directory's store. Changes nothing.
Status expect_shards(Connection& main, std::span<const ConnectionOptions> further,
                     std::string_view directory_id);

// begin_session() with a number that is larger than those of all batches that any shard has rows of: the main database may have been restored from
// a backup that is older than they are. Shards note it.
Result<uint32_t> begin_session_of_all(Connection& main, std::span<const ConnectionOptions> further);

// drop_epoch() of all databases: the main one first, which has the marks. May be repeated after a failure.
Status drop_epoch_of_all(ConnectionPool& main, const ShardPools& further, uint32_t epoch);

// Writes the rows of batches. One thread.
class RowInserter {
 public:
  // The shard of an origin.
  using ShardOf = std::function<uint32_t(uint32_t origin)>;

  explicit RowInserter(std::span<const ConnectionOptions> further);

  size_t shards() const { return 1 + further_.size(); }

  // kUnavailable where a shard beside the main database does not answer. One short statement for each.
  Status expect_answers();

  // One shard after the other. Memory: a million rows, twice. After a failure any of them may be there. `shard_of` is not called where there is
  // one database.
  Status insert(Connection& main, std::span<const Row> rows, BatchNumber number, const ShardOf& shard_of);

 private:
  std::vector<Connection> further_;
};

}  // namespace plimsoll::store::clickhouse
