// Rolling up: old blocks are written again as a whole, without threads and instances, the profiles of each hour as one.
//
// A block becomes a folder beside it, blocks/NNNNNN.1.tmp, which is whole and on disk before one rename gives it the name blocks/NNNNNN.1: from
// then on that is the block. Killed before, there is the full one; the next writer removes the rest either way. Rows are read and written beside
// everything else; the catalogue is copied while nothing else is written to sealed blocks (Ingest::replace_blocks()), so that no name is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "store/blocks/known_blocks.h"
#include "store/catalogue/block_table.h"
#include "store/directory/disk_usage.h"
#include "store/ingest.h"
#include "store/rollup/replaced_folders.h"

namespace plimsoll::store {

struct RollUpLimits {
  int64_t full_max_age_ns = 0;  // of the latest window of a block; 0: nothing is rolled up, whatever its size
  int64_t full_max_bytes = INT64_MAX;  // of all blocks that are not rolled up
  int64_t min_free_bytes = 0;          // of the disk, with the full block and the other beside each other
  std::chrono::steady_clock::duration keep_replaced = std::chrono::seconds(10);
};

struct RollUpReport {
  int64_t block = 0;  // that was rolled up; 0: none
  int64_t profiles = 0;
  int64_t origins = 0;  // that they became
  uint64_t rows_before = 0;
  uint64_t rows = 0;
  int64_t bytes_before = 0;
  int64_t bytes = 0;
};

// Of a data directory that this process writes. One thread at a time, beside those that accept profiles, build rows, merge, drop and ask.
class RollUp {
 public:
  using Clock = std::chrono::steady_clock;
  struct Environment {
    std::function<int64_t()> now_ns = wall_now_ns;
    // Of the disk that a path is on.
    std::function<Result<int64_t>(const std::string& path)> free_bytes = store::free_bytes;
    // By which a block that failed is tried again.
    std::function<Clock::time_point()> steady_now = Clock::now;
    // Called when the new block is whole, and before it gets its name. For tests.
    std::function<void()> before_publishing = {};
  };

  // `ingest` must outlive it.
  RollUp(Ingest& ingest, const RollUpLimits& limits) : RollUp(ingest, limits, Environment()) {}
  RollUp(Ingest& ingest, const RollUpLimits& limits, Environment environment);
  RollUp(const RollUp&) = delete;
  RollUp& operator=(const RollUp&) = delete;
  // Removes all files that were replaced, due or not.
  ~RollUp() = default;

  // Rolls up the oldest block that is over a limit. Ages are measured as retention does. A block that is damaged stays as it is, as does one
  // for which the disk has no room. One that fails for another reason is tried again after a minute, then after two and so on, up to an hour;
  // meanwhile others are rolled up, and where none is left to be, the result is its error. Once `stop` is requested it gives up, with nothing changed, as soon as it can.
  Result<RollUpReport> run_once(const std::stop_token& stop = {});

  // The oldest block that has nothing later, whatever the limits.
  Result<RollUpReport> run_once_before(int64_t before_ns, const std::stop_token& stop = {});

  // Removes the replaced files that are due, as every run does. When the next will be; nothing: none is left.
  std::optional<Clock::time_point> remove_due() { return replaced_.remove_due(); }

 private:
  using IsDue = std::function<bool(const BlockState& state, int64_t full_bytes)>;

  Result<RollUpReport> roll_up_first(const IsDue& is_due, const std::stop_token& stop);
  Result<bool> has_room(const BlockFolder& folder, int64_t bytes);
  Result<RollUpReport> roll_up(const BlockFolder& folder, const std::stop_token& stop);
  void note_failure(const BlockFolder& folder, const Error& error);
  bool is_waiting(const BlockFolder& folder) const;

  Ingest& ingest_;
  const RollUpLimits limits_;
  const Environment environment_;
  KnownBlocks known_;
  std::set<int64_t> unfit_;         // numbers of blocks that are damaged
  std::set<int64_t> without_room_;  // likewise, that was said
  std::map<int64_t, int> misses_;   // likewise: how often a file was missing, as after a merge
  struct Failed {
    Error error;
    Clock::duration wait;
    Clock::time_point again;
  };
  std::map<int64_t, Failed> failed_;  // likewise
  ReplacedFolders replaced_;
};

}  // namespace plimsoll::store
