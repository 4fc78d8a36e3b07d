// catalogue.db of a block of spans. The invariant kept here, in one transaction: spans are visible together with the dictionary entries that
// they refer to, and either in `recent` or in a segment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/blocks/block_folder.h"
#include "store/spans/span_dictionaries.h"
#include "store/spans/span_record.h"

namespace plimsoll::store {

struct SpanBlockState {
  bool is_sealed = false;  // takes no more spans
  // Wall clock of the writer; 0: nothing has come yet.
  int64_t first_written_ns = 0;
  int64_t last_written_ns = 0;
  // That its spans touch, by their machines' wall clocks; from_ns > to_ns: it has none.
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;

  bool operator==(const SpanBlockState&) const = default;
};

struct SpanSegmentEntry {
  int64_t id = 0;    // given by the catalogue
  std::string file;  // in the block's segments/
  uint64_t spans = 0;
  uint64_t bytes = 0;
  int64_t from_ns = 0;  // that its spans touch
  int64_t to_ns = 0;
};

// Spans that are in no segment yet.
struct RecentSpans {
  uint64_t spans = 0;
  int64_t first_written_ns = 0;  // wall clock of the writer; 0: there are none
};

struct RecentRecords {
  std::vector<SpanRecord> spans;  // in the order in which they came
  uint64_t damaged = 0;           // spans of batches that cannot be read
};

// One connection: one thread at a time. What is written is part of the caller's transaction.
class SpanCatalogue {
 public:
  // kNotFound where there is none to read; for writing it is made then.
  static Result<SpanCatalogue> open(const std::string& path, sqlite::OpenMode mode);

  sqlite::Database& database() { return database_; }

  Result<SpanBlockState> state();
  Status write_state(const SpanBlockState& state);

  // Adds the entries that the catalogue has beyond those that are there. kCorrupt where they do not follow each other. Without attributes,
  // their keys and values, which are most entries of many blocks, there is set 0 alone.
  Status read_on(SpanDictionaries& dictionaries, bool with_attributes = true);
  // Those beyond `before`.
  Status write_entries(const SpanDictionaries& dictionaries, const SpanDictionaries::Sizes& before);

  Status add_recent(std::span<const SpanRecord> spans, int64_t written_ns);
  // Methods, processes and sets of attributes are below those `sizes`. Without attributes all have set 0.
  Result<RecentRecords> recent(const SpanDictionaries::Sizes& sizes, bool with_attributes = true);
  Result<RecentSpans> count_recent();
  Status clear_recent();

  Result<std::vector<SpanSegmentEntry>> segments();
  Status add_segment(const SpanSegmentEntry& segment);
  // In the place of these, which have the same spans. kConflict where one of them is not shown any more.
  Status replace_segments(std::span<const SpanSegmentEntry> inputs, const SpanSegmentEntry& output);
  Result<bool> shows(std::string_view file);

  // Of the catalogue and the segments that it shows.
  Result<uint64_t> bytes();

 private:
  explicit SpanCatalogue(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Database database_;
};

// Blocks below `spans_path`, the newest last; none where the folder is not there. kCorrupt where one is missing in between.
Result<std::vector<BlockFolder>> list_span_blocks(const std::string& spans_path);

// Makes one without spans, durably, with the ID of its data directory: it is there as a whole or not at all.
Result<BlockFolder> make_span_block(const std::string& spans_path, int64_t number,
                                    const std::string& directory_id);

// Removes what a crash has left: of blocks that were being made or dropped, and files that no catalogue shows. Damage is logged, no failure.
Status remove_span_leftovers(const std::string& spans_path);

}  // namespace plimsoll::store
