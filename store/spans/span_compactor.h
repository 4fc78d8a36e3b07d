// Merges small segments of blocks of spans into larger ones, so that their number grows like the logarithm of the spans.
//
// As store/compaction does it for rows: a merge reads and writes beside everything else, and one transaction shows the new file in place of
// its inputs. The inputs' files go some seconds later, so that a reader who has just read the list finds them; one who was held up for longer
// reads the list again. A crash leaves the inputs visible, or the output, and files that no catalogue shows, which are removed when the
// directory is opened.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/compaction/plan/compaction_plan.h"
#include "store/door/spans.h"
#include "store/spans/span_catalogue.h"
#include "store/spans/span_segment.h"

namespace plimsoll::store {

// What a merge puts in the place of what.
struct SpanReplacement {
  BlockFolder block;
  std::vector<SpanSegmentEntry> inputs;
  SpanSegmentEntry output;

  std::string path_of(const SpanSegmentEntry& segment) const {
    return block.segments_path() + "/" + segment.file;
  }
};

// Of a directory that this process writes. Any thread; one merge at a time.
class SpanCompactor {
 public:
  using Clock = std::chrono::steady_clock;
  // In one transaction of the block's catalogue, once the new file is on disk. Where that fails it removes the file, unless the commit may be
  // done after a crash.
  using Replace = std::function<Status(const SpanReplacement& replacement)>;

  SpanCompactor(std::string spans_path, const CompactionLimits& limits, Replace replace)
      : spans_path_(std::move(spans_path)), limits_(limits), replace_(std::move(replace)) {}
  SpanCompactor(const SpanCompactor&) = delete;
  SpanCompactor& operator=(const SpanCompactor&) = delete;
  // Removes all files that were replaced, due or not.
  ~SpanCompactor();

  // See SpanSink. The oldest blocks come first. Memory: see SpanMerge.
  Result<SpanFilesMerged> merge_once(const std::stop_token& stop);

 private:
  Result<SpanReplacement> plan();
  Result<std::vector<SpanSegmentEntry>> next_inputs(const BlockFolder& block);
  Status merge(SpanReplacement& replacement, const std::stop_token& stop);
  Result<std::vector<SpanSegment>> open_inputs(const SpanReplacement& replacement);
  Status write_output(SpanReplacement& replacement, std::span<const SpanSegment> inputs,
                      const std::stop_token& stop);
  void note_damage(const SpanReplacement& replacement, const SpanSegmentEntry& segment, const Error& error);
  void remove_due_by(Clock::time_point now);

  struct Replaced {
    std::string path;
    Clock::time_point due;
  };

  const std::string spans_path_;
  const CompactionLimits limits_;
  const Replace replace_;
  std::mutex mutex_;
  // Protected by mutex_:
  // Numbers of blocks that are left alone until the directory is opened again: sealed ones without anything left to merge, damaged ones, and
  // those where a commit has failed.
  std::set<int64_t> finished_;
  std::set<std::string> damaged_;  // paths of files that stay as they are
  std::deque<Replaced> replaced_;  // by time
};

}  // namespace plimsoll::store
