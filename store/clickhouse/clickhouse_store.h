// The rows of a data directory in ClickHouse: opens what writes them, and what reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/shards.h"
#include "store/door/row_store.h"
#include "store/door/source.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store::clickhouse {

// The main database, with the password that its file has: the first line, 4 KiB at most.
Result<ConnectionOptions> connection_to(const RowsAddress& rows);

// The further databases that rows are split over (shards.h), in their order. kConflict where one is listed twice, or is the main one.
Result<std::vector<ConnectionOptions>> shards_of(const RowsAddress& rows);

// Whether these are replicas of the same tables, of which one has been added or taken away: one database, and a host in common.
bool are_same_replicas(const RowsAddress& one, const RowsAddress& other);

// kConflict unless `given` lists all shards of `known` in their places, or replicas of them, before others.
Status expect_same_shards(const RowsAddress& known, const RowsAddress& given);

// The main database is this data directory's from now on; kConflict where it has rows of another one. Its tables are there.
Status settle_owner(Connection& connection, std::string_view directory_id);

// Whether the server answers, and the database has rows of this data directory; and each of its shards. For readers: changes nothing.
Status expect_owner(const RowsAddress& rows, std::string_view directory_id);

class ClickHouseStore : public RowStore {
 public:
  // Makes the databases and their tables where they are missing. `directory_id`: of the data directory, whose archive numbers the profiles:
  // kConflict where a database has rows of another one. `now_ns` is the wall clock.
  static Result<std::unique_ptr<ClickHouseStore>> open(const RowsAddress& rows, std::string_view directory_id,
                                                       const EpochLimits& limits,
                                                       std::function<int64_t()> now_ns);

  std::string address() const override { return address_; }
  Sink& sink() override { return *sink_; }
  std::unique_ptr<Symbols> symbols() override;
  Status for_each_profile(int64_t first, int64_t last, const UseProfiles& use) override;
  Result<DroppedRows> drop_old(const RowStoreLimits& limits) override;

 private:
  ClickHouseStore(std::string address, std::shared_ptr<ConnectionPool> connections, ShardPools further,
                  std::unique_ptr<ClickHouseSink> sink, std::function<int64_t()> now_ns)
      : address_(std::move(address)),
        connections_(std::move(connections)),
        further_(std::move(further)),
        sink_(std::move(sink)),
        now_ns_(std::move(now_ns)) {}

  Result<std::map<uint32_t, uint64_t>> bytes_of_epochs() const;
  Result<int64_t> end_of(const EpochBatches& epoch);

  const std::string address_;
  const std::shared_ptr<ConnectionPool> connections_;
  const ShardPools further_;
  const std::unique_ptr<ClickHouseSink> sink_;
  const std::function<int64_t()> now_ns_;
  CommittedBatches committed_;
  std::map<uint32_t, int64_t> ends_ns_;  // of epochs that are complete: of their latest window
};

// For questions, beside the process that writes. Asks the server with the first question only.
Result<std::unique_ptr<Source>> open_source(const RowsAddress& rows);

}  // namespace plimsoll::store::clickhouse
