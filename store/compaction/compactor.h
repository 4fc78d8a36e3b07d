// Merges small segments of a block into larger ones, so that their number grows like the logarithm of the rows.
//
// A merge reads, sorts and writes beside everything else: neither writers nor readers wait for it, except for the one
// transaction of the catalogue that makes the new segment visible and its inputs invisible. The inputs' files are
// removed some seconds later, so that a reader who has just read the list finds them however many merges follow; one who
// was held up for longer, and finds a file gone, reads the list again. A crash leaves the inputs visible, or the output, and
// files of the others, which are removed when the directory is next opened for writing.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/catalogue/segment_table.h"
#include "store/compaction/plan/compaction_plan.h"
#include "store/ingest.h"

namespace plimsoll::store {

struct CompactionReport {
  uint64_t merged = 0;  // segments that were read
  uint64_t made = 0;    // and those that took their place
  uint64_t rows_before = 0;
  uint64_t rows = 0;
  uint64_t bytes_before = 0;
  uint64_t bytes = 0;
  std::vector<std::string> damaged = {};  // errors of segments that could not be read, and stay as they are

  CompactionReport& operator+=(const CompactionReport& other);
};

// Of a data directory that this process writes. Any thread; one merge at a time, others wait.
class Compactor {
 public:
  using Clock = std::chrono::steady_clock;

  // `ingest` must outlive it.
  static Result<std::unique_ptr<Compactor>> open(Ingest& ingest, const CompactionLimits& limits);

  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;
  // Removes all files that were replaced, due or not.
  ~Compactor();

  // What the next call to merge_once() would merge, all of one block. The oldest blocks come first: what there is to merge in those comes to
  // an end.
  Result<std::vector<SegmentEntry>> pending();

  // Of all blocks that there are. An error where the catalogue of one cannot be read.
  Result<uint64_t> count_segments() const;

  // One merge. Nothing merged and nothing damaged: there is nothing to do. Once `stop` is requested it gives up, with
  // nothing changed, as soon as it can. Memory: 8 MiB for each input, and the new file.
  Result<CompactionReport> merge_once(const std::stop_token& stop = {});

  // Until there is nothing to do, or `stop` is requested.
  Result<CompactionReport> merge_all(const std::stop_token& stop = {});

  // Removes the replaced files that are due, as every merge does. When the next one will be; nothing: none is left.
  std::optional<Clock::time_point> remove_due();

 private:
  // A block whose segments may be merged.
  struct Block {
    BlockFolder folder;
    Catalogue catalogue;  // for reading
    RowOrder order = {};
    std::set<int64_t> damaged = {};  // IDs of segments that could not be read

    std::string path_of(const SegmentEntry& segment) const {
      return folder.segments_path() + "/" + segment.file;
    }
  };
  struct Plan {
    Block* block = nullptr;
    std::vector<SegmentEntry> inputs;  // none: there is nothing to do
  };

  Compactor(Ingest& ingest, const CompactionLimits& limits) : ingest_(ingest), limits_(limits) {}

  Result<CompactionReport> merge_once_locked(const std::stop_token& stop);
  Result<Plan> plan();
  Result<Block*> open_block(const BlockFolder& folder);
  Result<CompactionReport> merge(Block& block, const std::vector<SegmentEntry>& inputs,
                                 const std::stop_token& stop);
  static void leave(Block& block, const SegmentEntry& damaged, const Error& error, CompactionReport& report);
  Status swap(const Block& block, const std::vector<SegmentEntry>& inputs, const SegmentEntry& output);
  void remove_due_by(Clock::time_point now);

  struct Replaced {
    std::string path;
    Clock::time_point due;
  };

  Ingest& ingest_;
  const CompactionLimits limits_;
  std::mutex mutex_;
  std::map<int64_t, std::unique_ptr<Block>> blocks_;  // protected by mutex_; by number
  using Key = std::pair<int64_t, int64_t>;            // number and generation
  std::set<Key> finished_;         // likewise; sealed blocks without anything left to merge
  std::deque<Replaced> replaced_;  // likewise; by time
};

}  // namespace plimsoll::store
