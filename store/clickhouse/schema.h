// The tables of a store in ClickHouse, which we make and upgrade ourselves.
//
// All but three tables are partitioned by epoch (store/door/sink.h): an epoch is dropped as a whole. Each of their rows names the batch that it came
// with (batches.h), and counts only where that batch is committed: hand-written SQL needs that condition too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/server_version.h"

namespace plimsoll::store::clickhouse {

struct TableColumn {
  std::string_view name;
  std::string_view type;
  std::string_view codec = {};  // where the server has codecs; empty: its default
};

struct Table {
  std::string_view name;
  std::string_view order;        // of its rows: columns of the primary key
  bool is_by_epoch = true;       // then its first columns are `epoch` and `batch`
  bool is_on_shards = false;     // databases that have rows alone have it as well (shards.h)
  std::vector<TableColumn> own;  // beside those

  // "epoch, batch, id, ...": of an INSERT, in the order in which they are written.
  std::string columns() const;
};

// In the order in which a batch writes them: what names others after those, and the batch itself last.
std::span<const Table> tables();
// One of them.
const Table& table_called(std::string_view name);

// Makes the database, those of the tables that it is to have (ConnectionOptions::shard) and the columns that are missing; changes nothing where there are all. Of several hosts each gets them; one that
// does not answer is passed over, unless none does. kUnsupported where a later release of ours has changed the tables, kConflict where they are
// replicated and must not be, or the other way round. Another process may do the same at the same time.
Status prepare_tables(Connection& connection);

// From now on releases that know no shards refuse to write to the main database, whose rows are not all any more. Its tables are there.
Status note_shards(Connection& main);

// Drops all tables of each host, and the note whose rows they are last. May be repeated after a failure. No process may read the tables meanwhile.
Status drop_tables(const ConnectionOptions& options);

// From one database. May be repeated after a failure. Not for an epoch between others: readers would find that marks are missing. kUnavailable
// where a replica still has the epoch's marks: its rows stay. A store of several databases: drop_epoch_of_all() (shards.h).
Status drop_epoch(Queryable& server, const ConnectionOptions& options, uint32_t epoch);

}  // namespace plimsoll::store::clickhouse
