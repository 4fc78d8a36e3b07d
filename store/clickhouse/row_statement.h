// What a request about rows is to the server: a statement, and tables that go with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/model/aggregation.h"

namespace plimsoll::store::clickhouse {

struct Statement {
  std::string sql;
  std::vector<ExternalTable> tables;
};

// Where the tables of dictionaries are.
enum class EntryTables : uint8_t {
  kBesideRows,  // in each database that is asked
  kElsewhere,   // in one of them alone (shards.h)
};

// The name of a column in the table `rows`.
std::string_view name_of(Column column);

// Adds the conditions of the filter to `statement`, which ends in a WHERE clause with at least one. Sets of many ranges become conditions on the
// tables of dictionaries, where that is how they were made and these are there, else tables that go with the statement.
void add_conditions(const RowFilter& filter, const EpochBatches& epoch, Statement& statement,
                    EntryTables entries = EntryTables::kBesideRows);

// Asks for the sums of a request. A row of the answer, in RowBinary, has the groups of event and origin, the machine group (UInt32 each), the IDs of
// `columns` (UInt32), whether each of its rows had a factor (UInt8), and a sum for each measure (Float64).
struct SumsStatement {
  Statement statement;
  std::vector<Column> columns;  // of which the request has groups
};
SumsStatement sums_statement(const AggregateRequest& request, const EpochBatches& epoch,
                             EntryTables entries = EntryTables::kBesideRows);

}  // namespace plimsoll::store::clickhouse
