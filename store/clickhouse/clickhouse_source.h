// What questions read of a store in ClickHouse (store/door/source.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/stoppable_mutex.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/epoch_reader.h"
#include "store/clickhouse/merged_rows.h"
#include "store/clickhouse/shards.h"
#include "store/door/source.h"
#include "store/joined/part_choice.h"
#include "store/joined/recent_series.h"

namespace plimsoll::store::clickhouse {

// Beside a writer, in another process or this one. Without anything new a question costs two short statements before its own. Entries of
// epochs that were asked for last are in memory, those of others are read again. A question waits for others that ask the server, at most as
// long as it may take itself (check_stop()).
class ClickHouseSource : public Source {
 public:
  // The tables are there (prepare_tables). `further`: the other shards of the rows. `max_bytes`: as RecentSeries has it.
  explicit ClickHouseSource(std::shared_ptr<ConnectionPool> connections, ShardPools further = {},
                            uint64_t max_bytes = default_series_bytes())
      : connections_(std::move(connections)), further_(std::move(further)), series_(&merge_rows, max_bytes) {}

  // Of contents that a caller has, rows of an epoch that was dropped since can be read no more (kUnavailable). kUnavailable also where rows are in
  // more shards than this knows of.
  Result<Contents> newest(const TimeSpans& times) override;

  void forget_dropped() override;
  std::vector<uint64_t> lineages() const override;

 private:
  struct Chosen : PartChoice {
    std::shared_ptr<RecentSeries::Series> series;
  };

  Result<Chosen> choose(const TimeSpans& times);
  Status follow_epochs();
  Status read_times();
  // What does not go on as one of these.
  void forget_others(const CommittedBatches::Epochs& epochs);

  const std::shared_ptr<ConnectionPool> connections_;
  const ShardPools further_;
  CommittedBatches committed_;
  StoppableMutex following_;                                 // held while the server is asked
  std::map<uint32_t, std::shared_ptr<EpochReader>> epochs_;  // protected by following_; by number
  mutable std::mutex mutex_;
  RecentSeries series_;  // protected by mutex_
};

}  // namespace plimsoll::store::clickhouse
