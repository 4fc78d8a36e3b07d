// LocalSpanSink: when spans that have gathered become a file, and a block takes no more.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/durable_file.h"
#include "store/spans/local_span_sink.h"
#include "store/spans/span_change.h"

namespace plimsoll::store {
bool LocalSpanSink::is_old() const {
  const SpanBlockState& state = block_->loaded->state;
  const int64_t age_ns = now_ns_() - state.first_written_ns;
  // A block that was begun while the clock was ahead would stay until that time comes, and its spans for longer.
  return state.first_written_ns != 0 && (age_ns >= limits_.max_age_ns || age_ns < 0);
}

bool LocalSpanSink::is_flush_due() const {
  const RecentSpans& recent = block_->loaded->recent;
  return recent.spans >= limits_.max_recent ||
         (recent.spans > 0 && now_ns_() - recent.first_written_ns >= limits_.max_recent_age_ns);
}

// Part of the change's transaction.
Status LocalSpanSink::write_segment(const std::vector<SpanRecord>& records, Change& change) {
  std::vector<PlacedSpan> placed;
  placed.reserve(records.size());
  for (const SpanRecord& record : records) {
    placed.push_back({record, &block_->loaded->dictionaries});
  }
  keep_distinct(placed);
  std::vector<SpanRecord> distinct;
  distinct.reserve(placed.size());
  for (const PlacedSpan& one : placed) {
    distinct.push_back(one.span);
  }
  SpanBlockState covered;
  widen(covered, distinct);
  SpanSegmentEntry segment{.file = new_span_file_name(),
                           .spans = distinct.size(),
                           .from_ns = covered.from_ns,
                           .to_ns = covered.to_ns};
  const std::string content = encode_span_segment(std::move(distinct));
  segment.bytes = content.size();
  const std::string path = block_->folder.segments_path() + "/" + segment.file;
  change.set_file(path);
  const Status written = write_file_durably(path, as_bytes(content));
  return written ? block_->catalogue.add_segment(segment) : written;
}

// Makes a segment of the spans that have gathered; `is_last` seals the block in the same transaction.
Status LocalSpanSink::flush(bool is_last) {
  Change change(*this);
  Status written = change.begin();
  if (!written) {
    return written;
  }
  SpanCatalogue& catalogue = block_->catalogue;
  const auto records = catalogue.recent(block_->loaded->dictionaries.sizes());
  if (!records) {
    return propagate(records);
  }
  if (records->damaged != 0) {
    return fail(ErrorCode::kCorrupt, "recent spans in {} are damaged", block_->folder.catalogue_path());
  }
  SpanBlockState state = block_->loaded->state;
  state.is_sealed = is_last;
  written = records->spans.empty() ? Status() : write_segment(records->spans, change);
  written = written ? catalogue.clear_recent() : written;
  written = written ? catalogue.write_state(state) : written;
  written = written ? change.commit() : written;
  if (!written) {
    return propagate(written, "making a segment of recent spans");
  }
  block_->loaded->state = state;
  block_->loaded->recent = {};
  return {};
}

Status LocalSpanSink::seal_if_full() {
  const auto bytes = block_->catalogue.bytes();
  if (!bytes) {
    return propagate(bytes);
  }
  return *bytes >= limits_.max_bytes ? flush(/*is_last=*/true) : Status();
}

// Of the newest block by its own connection; no other thread writes to the others.
Status LocalSpanSink::replace_segments(const SpanReplacement& replacement) {
  const std::lock_guard lock(mutex_);
  const std::string path = replacement.path_of(replacement.output);
  if (block_ != nullptr && block_->folder.number == replacement.block.number) {
    Change change(*this);
    change.set_file(path);
    Status written = change.begin();
    written = written ? block_->catalogue.replace_segments(replacement.inputs, replacement.output) : written;
    return written ? change.commit() : written;
  }
  auto catalogue = open_catalogue_of(replacement.block);
  auto transaction = catalogue ? sqlite::Transaction::begin(catalogue->database()) : propagate(catalogue);
  const Status written = transaction ? catalogue->replace_segments(replacement.inputs, replacement.output)
                                     : propagate(transaction);
  if (!written) {
    ::unlink(path.c_str());
    return written;
  }
  return transaction->commit();
}

Status LocalSpanSink::settle() {
  const std::lock_guard lock(mutex_);
  if (block_ == nullptr) {
    // A directory without spans gets no block.
    const auto blocks = list_span_blocks(spans_path_);
    if (!blocks || blocks->empty()) {
      return blocks ? Status() : propagate(blocks);
    }
    if (const Status opened = open_block(blocks->back()); !opened) {
      return opened;
    }
  }
  const Status loaded = load();
  if (!loaded || block_->loaded->state.is_sealed) {
    return loaded;
  }
  const bool is_last = is_old();
  return is_last || is_flush_due() ? flush(is_last) : Status();
}

}  // namespace plimsoll::store
