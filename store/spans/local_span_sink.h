// The blocks of spans of a data directory, for the process that writes it.
//
// A batch is part of one transaction of the newest block's catalogue, with those that came at the same time (span_batch_queue.h). Small ones gather in the table `recent` until they are worth a segment; a large
// one is a segment at once, whose file is on disk before the transaction that shows it. A crash at any moment leaves a batch as a whole or
// not at all, and perhaps files that no catalogue shows.
//
// A newest block that is damaged keeps nothing from being stored: it stays as it is, and the next one is begun.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/fair_mutex.h"
#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/door/spans.h"
#include "store/spans/span_batch_queue.h"
#include "store/spans/span_catalogue.h"
#include "store/spans/span_compactor.h"
#include "store/spans/span_dictionaries.h"
#include "store/spans/span_order.h"
#include "store/spans/span_segment.h"

namespace plimsoll::store {

struct SpanBlockLimits {
  // When a block takes no more.
  uint64_t max_bytes = uint64_t{512} << 20;                // of its catalogue and segments
  int64_t max_age_ns = int64_t{6} * 3600 * 1'000'000'000;  // since its first spans came
  // When spans that have gathered become a segment.
  uint64_t max_recent = kSpansOfChunk;
  int64_t max_recent_age_ns = int64_t{60} * 1'000'000'000;
  SpanNameLimits names = {};
  // When small segments become larger ones. Of one that has so many spans 50 MB are in memory while it is made.
  CompactionLimits merging = {.max_rows = uint64_t{2} << 20};
};

class LocalSpanSink : public SpanSink {
 public:
  // Removes what a crash has left. The first spans make the first block: a directory without any has no `spans_path`. `now_ns` is the wall
  // clock, by which blocks grow old.
  static Result<std::unique_ptr<LocalSpanSink>> open(std::string spans_path, std::string directory_id,
                                                     const SpanBlockLimits& limits,
                                                     std::function<int64_t()> now_ns);

  Result<SpansKept> add_all(std::span<const SpanBatch> batches) override;
  Status settle() override;
  Result<uint64_t> drop_old(int64_t before_ns, uint64_t max_bytes) override;
  Result<bool> drop_oldest() override;
  Result<SpanFilesMerged> merge_once(const std::stop_token& stop) override {
    return compactor_.merge_once(stop);
  }

  // Calls of add_all() that wait behind the group that is being stored.
  size_t waiting_calls() const { return queue_.waiting_calls(); }

 private:
  // What is known of the newest block, as committed, or in the transaction at hand.
  struct Loaded {
    SpanBlockState state;
    SpanDictionaries dictionaries;
    SpanDictionaries::Sizes committed;  // entries
    RecentSpans recent;
  };
  struct Opened {
    BlockFolder folder;
    SpanCatalogue catalogue;
    std::unique_ptr<Loaded> loaded;  // none: to be read, since a transaction failed
    bool has_told_of_other_names = false;
  };
  class Change;

  LocalSpanSink(std::string spans_path, std::string directory_id, const SpanBlockLimits& limits,
                std::function<int64_t()> now_ns)
      : spans_path_(std::move(spans_path)),
        directory_id_(std::move(directory_id)),
        limits_(limits),
        now_ns_(std::move(now_ns)),
        queue_({.max_group_spans = limits.max_recent}),
        compactor_(spans_path_, limits.merging,
                   [this](const SpanReplacement& replacement) { return replace_segments(replacement); }) {}

  std::string data_dir() const { return spans_path_.substr(0, spans_path_.rfind('/')); }

  // These take the lock.
  Status replace_segments(const SpanReplacement& replacement);
  Result<std::vector<SpansKept>> store_group(std::span<const SpanBatch> group);

  // All of these with the lock.
  Status make_ready();
  Status open_newest();
  Status begin_block(int64_t number);
  static Result<SpanCatalogue> open_catalogue_of(const BlockFolder& folder);
  Status open_block(const BlockFolder& folder);
  Status load();
  Status pass_over(const Error& damage);
  using KeptOfEach = std::vector<SpansKept>;
  Result<KeptOfEach> add_to_newest(std::span<const SpanBatch> group);
  Result<KeptOfEach> add_to_block(std::span<const SpanBatch> group);
  SpansKept add_records(const SpanBatch& batch, std::vector<SpanRecord>& records);
  void settle_added();
  Status write_segment(const std::vector<SpanRecord>& records, Change& change);
  Status flush(bool is_last);
  Status seal_if_full();
  bool is_old() const;
  bool is_flush_due() const;
  void remove_doubtful();
  Result<std::vector<BlockFolder>> due(int64_t before_ns, uint64_t max_bytes);
  Result<uint64_t> drop_due(int64_t before_ns, uint64_t max_bytes);

  const std::string spans_path_;
  const std::string directory_id_;
  const SpanBlockLimits limits_;
  const std::function<int64_t()> now_ns_;
  SpanBatchQueue queue_;
  // Groups follow each other closely; what is due by time has its turn in between.
  FairMutex mutex_;
  std::unique_ptr<Opened> block_;  // protected by mutex_, as the next; none: not opened yet
  // Files of commits that failed. After a crash such a commit may be done all the same, since the log has it before it is synced: they stay
  // until another commit is done, or the directory is opened.
  std::vector<std::string> doubtful_;
  SpanCompactor compactor_;  // last: it calls this object
};

}  // namespace plimsoll::store
