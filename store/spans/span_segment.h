// A segment of spans: an immutable file, sorted by trace, column by column. docs/store-format.md describes its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/model/time_spans.h"
#include "store/segments/segment_file.h"
#include "store/spans/span_dictionaries.h"
#include "store/spans/span_record.h"
#include "traces/model/ids.h"

namespace plimsoll::store {

inline constexpr size_t kSpansOfChunk = 65'536;

// The earlier and the later of a span's times.
inline int64_t first_ns_of(const SpanRecord& span) {
  return span.start_ns < span.end_ns ? span.start_ns : span.end_ns;
}
inline int64_t last_ns_of(const SpanRecord& span) {
  return span.start_ns < span.end_ns ? span.end_ns : span.start_ns;
}

inline constexpr SegmentSchema kSpanSegmentSchema{
    .id = 4, .columns = 6, .parts = 3, .counts = 2, .part_names = {"traces", "IDs", "fields"}};

// The bytes of a file of these spans, in any order; no times are negative. About 200 ns a span, and as much memory again.
std::string encode_span_segment(std::vector<SpanRecord> spans);

// Of a new file: random, so that none is used twice.
std::string new_span_file_name();

// Makes such a file of spans that come trace by trace, without having all of them in memory: those of the chunk at hand, and the bytes of the
// file.
class SpanSegmentWriter {
 public:
  SpanSegmentWriter() : file_(kSpanSegmentSchema) {}

  // Of one trace, behind those of smaller trace IDs, in any order; sorts them.
  void add_trace(std::vector<SpanRecord>& spans);
  uint64_t spans() const { return spans_; }
  // The file; then the writer must not be used again.
  std::string finish();

 private:
  void add_chunk(size_t spans);

  SegmentFileWriter file_;
  std::vector<SpanRecord> chunk_;  // not in the file yet
  uint64_t spans_ = 0;
};

// Such a file, mapped. A chunk is checked when it is first read: checksums, and that its numbers fit together. Any thread may read.
class SpanSegment {
 public:
  static constexpr SegmentSchema kSchema = kSpanSegmentSchema;
  // Of files without attributes, which are read, too.
  static constexpr SegmentSchema kSchemaWithoutAttributes{
      .id = 3, .columns = 6, .parts = 3, .counts = 2, .part_names = {"traces", "IDs", "fields"}};

  static Result<SpanSegment> open(const std::string& path);

  uint64_t spans() const { return file_.rows(); }
  uint64_t size_bytes() const { return file_.size_bytes(); }
  size_t chunks() const { return file_.chunks().size(); }
  size_t spans_in(size_t chunk) const { return file_.chunks()[chunk].rows; }
  size_t chunk_bytes(size_t chunk) const { return file_.chunks()[chunk].size_bytes(); }

  // Whether any span of a chunk may touch these times, and be of that trace.
  bool may_hold(size_t chunk, const TimeSpan& times, const std::optional<traces::TraceId>& trace) const;

  // All of a chunk, behind what is there. Methods, processes and sets of attributes are below those `sizes`, and each span is_possible(). kCorrupt where it is
  // damaged; then nothing is added. About 20 ns a span. Without attributes all have set 0.
  Status read(size_t chunk, const SpanDictionaries::Sizes& sizes, std::vector<SpanRecord>& spans,
              bool with_attributes = true) const;

 private:
  SegmentFile file_;
  bool has_attributes_ = true;
};

}  // namespace plimsoll::store
