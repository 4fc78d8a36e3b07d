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
#include "store/copy/part.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

// Of a database that no other process writes to. A part becomes one batch, whose mark is written last (store/clickhouse/batches.h): what was
// given up before counts for nothing, and goes when the part is written again.
class EpochParts : public PartTarget {
 public:
  // Makes the database and its tables where they are missing. kConflict where it has rows of another data directory. `now_ns` is the wall
  // clock.
  static Result<std::unique_ptr<EpochParts>> open(const RowsAddress& rows, std::string_view directory_id,
                                                  std::function<int64_t()> now_ns);

  Result<std::vector<PartState>> parts() override;
  Result<CopiedPart> read(int64_t number) override;
  Status read_names(int64_t number, const UseNames& use) override;

  // Memory beside the part: a million rows. The first call takes over from the process that wrote before.
  Status write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) override;
  Status drop(int64_t number) override;

  // All epochs and tables; the database itself stays. Done again it does the rest. Of no use afterwards.
  Status remove_all();

 private:
  EpochParts(std::shared_ptr<clickhouse::ConnectionPool> connections, std::function<int64_t()> now_ns)
      : connections_(std::move(connections)), writing_(connections_->open()), now_ns_(std::move(now_ns)) {}

  Result<clickhouse::EpochBatches> epoch(int64_t number);
  Status begin_session();
  Status insert(const clickhouse::TableRows& table);
  Status write_rows(RowCursor& rows, clickhouse::BatchNumber number);
  Status write_names(const CopiedPart& part, const ReadNames& read_names);
  Status write_mark(const clickhouse::BatchMark& mark);

  const std::shared_ptr<clickhouse::ConnectionPool> connections_;
  clickhouse::Connection writing_;
  const std::function<int64_t()> now_ns_;
  clickhouse::CommittedBatches committed_;
  std::unique_ptr<clickhouse::WriterSession> session_;  // null: nothing was written yet
};

}  // namespace plimsoll::store
