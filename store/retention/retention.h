// Keeps a store within its limits: what is oldest goes first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "store/blocks/known_blocks.h"
#include "store/directory/disk_usage.h"
#include "store/ingest.h"
#include "store/retention/retention_limits.h"

namespace plimsoll::store {

// What went.
struct RetentionReport {
  int64_t profiles = 0;  // raw ones
  int64_t ids = 0;       // of profiles: sent again, they are refused for their age
  int64_t blocks = 0;
  int64_t symbol_tables = 0;
  int64_t bytes = 0;  // of blocks and symbol tables, and of the archive what the disk got back

  bool empty() const { return profiles == 0 && ids == 0 && blocks == 0 && symbol_tables == 0; }
};

// Of a data directory that this process writes. One thread at a time, beside those that accept profiles, build rows, merge and ask.
class Retention {
 public:
  struct Environment {
    std::function<int64_t()> now_ns = wall_now_ns;
    // Of the disk that a path is on.
    std::function<Result<int64_t>(const std::string& path)> free_bytes = store::free_bytes;
  };

  // `limits` without sizes of 0. `ingest` must outlive it.
  Retention(Ingest& ingest, const RetentionLimits& limits) : Retention(ingest, limits, Environment()) {}
  Retention(Ingest& ingest, const RetentionLimits& limits, Environment environment);

  // Drops what is over a limit. Costs a stat() for each file of the store where nothing is. What has not become rows yet stays, as does the
  // newest block. Of a disk that is too full, one call drops one block at most. Ages are measured by the clock, but no further than a day after
  // the profile that came last. Once `stop` is requested it ends as soon as it can; the next call goes on.
  Result<RetentionReport> enforce(const std::stop_token& stop = {});

 private:
  // The oldest block, where it may be dropped.
  struct OldestBlock {
    BlockFolder folder;
    int64_t to_ns = 0;  // of its latest window
    int64_t bytes = 0;
    int64_t all_bytes = 0;  // of all blocks
  };

  Status drop_blocks(const std::stop_token& stop, RetentionReport& report);
  Status drop_raw_profiles(const std::stop_token& stop, RetentionReport& report);
  Status forget_ids(const std::stop_token& stop, RetentionReport& report);
  Status free_disk(const std::stop_token& stop, RetentionReport& report);
  Status drop_symbol_tables(RetentionReport& report);
  Result<std::optional<OldestBlock>> oldest_block();
  Result<int64_t> trusted_now_ns();
  Result<int64_t> end_of(const BlockFolder& folder);
  Status drop(const OldestBlock& block, std::string_view why, RetentionReport& report);
  Result<bool> drop_oldest(RetentionReport& report);

  Ingest& ingest_;
  const RetentionLimits limits_;
  const Environment environment_;
  KnownBlocks known_;
  int64_t now_ns_ = 0;  // by which the running pass measures ages
};

}  // namespace plimsoll::store
