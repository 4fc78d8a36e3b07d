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
  std::vector<TableColumn> own;  // beside those

  // "epoch, batch, id, ...": of an INSERT, in the order in which they are written.
  std::string columns() const;
};

// In the order in which a batch writes them: what names others after those, and the batch itself last.
std::span<const Table> tables();
// One of them.
const Table& table_called(std::string_view name);

struct ServerVersion {
  int major = 0;
  int minor = 0;

  // Codecs of columns; Debian 12 has 18.16, without them.
  bool has_codecs() const { return major >= 20; }
};

// "26.7.1.1". kUnsupported for what is no version.
Result<ServerVersion> parse_version(std::string_view text);

// Makes the database, the tables and the columns that are missing; changes nothing where there are all. kUnsupported where a later release of
// ours has changed the tables. Another process may do the same at the same time.
Status prepare_tables(Connection& connection);

// Drops all tables, and the note whose rows they are last. May be repeated after a failure. No process may read the tables meanwhile.
Status drop_tables(Queryable& server);

// May be repeated after a failure. Not for an epoch between others: readers would find that marks are missing.
Status drop_epoch(Queryable& server, uint32_t epoch);

}  // namespace plimsoll::store::clickhouse
