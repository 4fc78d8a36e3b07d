// The rows of one epoch of a store in ClickHouse.
//
// The server filters and adds up; which group a sum falls into is decided here, where the tables of groups are. So a question is one statement: by
// the IDs of the columns that are grouped, and by machine group, for all measures at once. What a request has by origin (factors, groups of machines
// and of origins) goes with it as a table that the server joins; filters are SQL where they are few ranges or conditions on entries, else tables.
//
// Rows that are split over several databases (shards.h): each is asked the same, and the sums are added up here. Further ones have no entries, so that
// filters on many IDs are tables then.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/shards.h"
#include "store/model/aggregation.h"

namespace plimsoll::store::clickhouse {

class ClickHouseRows : public RowSource {
 public:
  // The pool is shared by all that ask the same server.
  ClickHouseRows(std::shared_ptr<ConnectionPool> connections, EpochBatches epoch, ShardPools further = {})
      : connections_(std::move(connections)), epoch_(std::move(epoch)), further_(std::move(further)) {}

  // Memory: the answer of the server, of 8 bytes a measure and up to 25 bytes a group of IDs, and the sums; of several shards up to four answers.
  // kUnavailable where the epoch is dropped meanwhile. Where a shard fails there is no answer.
  Result<Cells> aggregate(const AggregateRequest& request) const override;
  // Memory: about a million rows, or those of one profile. The cursor fails with kUnavailable where the epoch is dropped meanwhile.
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;

 private:
  size_t shards() const { return 1 + further_.size(); }
  const std::shared_ptr<ConnectionPool>& shard(size_t number) const {
    return number == 0 ? connections_ : further_[number - 1];
  }

  const std::shared_ptr<ConnectionPool> connections_;
  const EpochBatches epoch_;
  const ShardPools further_;
};

}  // namespace plimsoll::store::clickhouse
