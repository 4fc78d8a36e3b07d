// Merging: neighbouring blocks that are rolled up become one, so that their dictionaries, which are nearly alike and nearly all that they
// take, are kept and read once.
//
// Four blocks become a folder that is whole and on disk before one rename gives it the name of a block, by which it takes their place
// (store/blocks/block_folder.h). Killed before, there are the four; the next writer removes the rest either way. Dictionaries and rows are
// read and written beside everything else; the catalogue is made while nothing else is written to sealed blocks
// (Ingest::replace_blocks()), so that no name is lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/blocks/block_folder.h"
#include "store/blocks/known_blocks.h"
#include "store/directory/disk_usage.h"
#include "store/ingest.h"
#include "store/merging/merge_plan.h"
#include "store/merging/merged_block.h"
#include "store/rollup/replaced_folders.h"

namespace plimsoll::store {

struct MergeReport {
  int64_t blocks = 0;  // that became one; 0: none were due
  // Numbers of the first and the last.
  int64_t first = 0;
  int64_t last = 0;
  uint64_t stacks_before = 0;
  uint64_t stacks = 0;
  uint64_t rows_before = 0;
  uint64_t rows = 0;
  int64_t bytes_before = 0;
  int64_t bytes = 0;
};

// Of a data directory that this process writes. One thread at a time, beside those that accept profiles, build rows, merge segments, drop and
// ask; the same one that rolls up.
class BlockMerger {
 public:
  using Clock = std::chrono::steady_clock;
  struct Environment {
    std::function<int64_t()> now_ns = wall_now_ns;
    // Of the disk that a path is on.
    std::function<Result<int64_t>(const std::string& path)> free_bytes = store::free_bytes;
    // By which blocks that failed are tried again.
    std::function<Clock::time_point()> steady_now = Clock::now;
    // Called when the rows of the new block are written, and before writing to its members is locked. For tests.
    std::function<void()> rows_written = {};
    // Called when the new block is whole, and before it gets its name. For tests.
    std::function<void()> before_publishing = {};
  };

  // `ingest` must outlive it.
  BlockMerger(Ingest& ingest, const MergeLimits& limits) : BlockMerger(ingest, limits, Environment()) {}
  BlockMerger(Ingest& ingest, const MergeLimits& limits, Environment environment);
  BlockMerger(const BlockMerger&) = delete;
  BlockMerger& operator=(const BlockMerger&) = delete;
  // Removes all files that were replaced, due or not.
  ~BlockMerger() = default;

  // Merges the blocks that next_merge() chooses. A block that is damaged stays as it is, so that its damage can be seen and mended; so do
  // blocks that have too many entries together, or an event of one name with several meanings, and those for which the disk has no room: the log
  // says why, once. Blocks that fail for another reason are tried again after a minute, then after two and so on, up to an hour; meanwhile
  // others are merged, and where none are left to be, the result is their error. Once `stop` is requested it gives up, with nothing
  // changed, as soon as it can.
  Result<MergeReport> run_once(const std::stop_token& stop = {});

  // Removes the replaced files that are due, as every run does. When the next will be; nothing: none is left.
  std::optional<Clock::time_point> remove_due() { return replaced_.remove_due(); }

 private:
  using Group = std::span<const BlockFolder>;
  using Key = std::pair<int64_t, int64_t>;  // of a block: number and generation
  struct Failed {
    Error error;
    int64_t last = 0;  // number of the last block
    Clock::duration wait;
    Clock::time_point again;
  };

  std::vector<MergeCandidate> look_at(const std::vector<BlockFolder>& folders);
  MergeCandidate candidate_of(const BlockFolder& folder);
  bool is_waiting(const BlockFolder& folder) const;
  Result<bool> has_room(Group group, int64_t bytes);
  Result<MergeReport> merge(Group group, MergedBlock& merged, const std::stop_token& stop);
  void give_up(Group group, std::optional<size_t> failed_member, const Error& error);
  void set_unfit(Group group, const Error& error);
  void note_failure(Group group, const Error& error);

  Ingest& ingest_;
  const MergeLimits limits_;
  const Environment environment_;
  KnownBlocks known_;
  std::set<Key> unfit_;
  std::set<Key> without_room_;  // first blocks of groups: that was said
  std::map<Key, int>
      misses_;  // first blocks of groups: how often a file was missing, as after a merge of segments
  Clock::time_point now_;             // when the run began
  std::map<int64_t, Failed> failed_;  // by the number of the first block
  ReplacedFolders replaced_;
};

}  // namespace plimsoll::store
