// The epochs of a store in ClickHouse as parts of a copy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/shards.h"
#include "store/copy/part.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

// Of a database that no other process writes to. A part becomes one batch, whose mark is written last (store/clickhouse/batches.h): what was
// given up before counts for nothing, and goes when the part is written again. Rows of several shards are read as one, and split by machine where
// they are written (store/clickhouse/shards.h).
class EpochParts : public PartTarget {
 public:
  // Makes the databases and their tables where they are missing. kConflict where one has rows of another data directory, or rows are in more
  // shards than `rows` lists. `now_ns` is the wall clock.
  static Result<std::unique_ptr<EpochParts>> open(const RowsAddress& rows, std::string_view directory_id,
                                                  std::function<int64_t()> now_ns);

  Result<std::vector<PartState>> parts() override;
  Result<CopiedPart> read(int64_t number) override;
  Status read_names(int64_t number, const UseNames& use) override;

  // Memory beside the part: a million rows, with shards two. The first call takes over from the process that wrote before.
  Status write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) override;
  Status drop(int64_t number) override;

  // All epochs and tables; the database itself stays. Done again it does the rest. Of no use afterwards.
  Status remove_all();

 private:
  EpochParts(std::shared_ptr<clickhouse::ConnectionPool> connections,
             std::vector<clickhouse::ConnectionOptions> further, std::function<int64_t()> now_ns)
      : connections_(std::move(connections)),
        further_options_(std::move(further)),
        further_(clickhouse::pools_of(further_options_)),
        writing_(connections_->open()),
        inserter_(further_options_),
        now_ns_(std::move(now_ns)) {}

  Result<std::shared_ptr<const clickhouse::CommittedBatches::Epochs>> epochs();
  Result<clickhouse::EpochBatches> epoch(int64_t number);
  Status begin_session();
  Status insert(const clickhouse::TableRows& table);
  Status write_rows(RowCursor& rows, clickhouse::BatchNumber number, const Dictionaries& entries);
  Status write_names(const CopiedPart& part, const ReadNames& read_names);
  Status write_mark(const clickhouse::BatchMark& mark);

  const std::shared_ptr<clickhouse::ConnectionPool> connections_;
  const std::vector<clickhouse::ConnectionOptions> further_options_;
  const clickhouse::ShardPools further_;
  clickhouse::Connection writing_;
  clickhouse::RowInserter inserter_;
  const std::function<int64_t()> now_ns_;
  clickhouse::CommittedBatches committed_;
  std::unique_ptr<clickhouse::WriterSession> session_;  // null: nothing was written yet
};

}  // namespace plimsoll::store
