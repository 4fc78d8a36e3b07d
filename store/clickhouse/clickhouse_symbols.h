// Addresses without names of a store in ClickHouse, and names for them (store/door/symbols.h).
//
// Names of a call of bind() are a batch of their own, whose mark is written last. What was given up counts for nothing; what is bound again
// counts in the place of what was bound before, since its number is larger.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/door/symbols.h"

namespace plimsoll::store::clickhouse {

// An epoch is a block, of the same number.
class ClickHouseSymbols : public Symbols {
 public:
  // Of the process whose sink has this session. `now_ns` is the wall clock. What blocks() gives may outlive it.
  ClickHouseSymbols(std::shared_ptr<ConnectionPool> connections, std::shared_ptr<WriterSession> session,
                    std::function<int64_t()> now_ns)
      : connections_(std::move(connections)), session_(std::move(session)), now_ns_(std::move(now_ns)) {}

  Result<std::vector<std::unique_ptr<BlockSymbols>>> blocks() override;

 private:
  const std::shared_ptr<ConnectionPool> connections_;
  const std::shared_ptr<WriterSession> session_;
  const std::function<int64_t()> now_ns_;
  const std::shared_ptr<CommittedBatches> committed_ = std::make_shared<CommittedBatches>();
};

}  // namespace plimsoll::store::clickhouse
