// The rows of one epoch of a store in ClickHouse.
//
// The server filters and adds up; which group a sum falls into is decided here, where the tables of groups are. So a question is one statement: by
// the IDs of the columns that are grouped, and by machine group, for all measures at once. What a request has by origin (factors, groups of machines
// and of origins) goes with it as a table that the server joins; filters are SQL where they are few ranges or conditions on entries, else tables.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/model/aggregation.h"

namespace plimsoll::store::clickhouse {

class ClickHouseRows : public RowSource {
 public:
  // The pool is shared by all that ask the same server.
  ClickHouseRows(std::shared_ptr<ConnectionPool> connections, EpochBatches epoch)
      : connections_(std::move(connections)), epoch_(std::move(epoch)) {}

  // Memory: the answer of the server, of 8 bytes a measure and up to 25 bytes a group of IDs, and the sums. kUnavailable where the epoch is
  // dropped meanwhile.
  Result<Cells> aggregate(const AggregateRequest& request) const override;
  // Memory: about a million rows, or those of one profile. The cursor fails with kUnavailable where the epoch is dropped meanwhile.
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;

 private:
  const std::shared_ptr<ConnectionPool> connections_;
  const EpochBatches epoch_;
};

}  // namespace plimsoll::store::clickhouse
