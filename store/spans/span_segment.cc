#include "store/spans/span_segment.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "base/byte_reader.h"
#include "base/hex.h"
#include "base/random.h"
#include "store/segments/packed_column.h"

namespace plimsoll::store {
namespace {

enum SpanPart : uint8_t { kTraces, kIds, kFields };
enum SpanCount : uint8_t { kTraceCount, kOutsideCount };
enum SpanZone : uint8_t { kTraceHigh, kTraceLow, kFirstSecond, kLastSecond, kMethod, kProcess };

// What a span's parent is stored as.
constexpr uint64_t kNoParent = 0;
constexpr uint64_t kOutside = 1;
constexpr uint64_t kFirstPlace = 2;

constexpr uint64_t kStatusBits = 3;
constexpr uint64_t kSharedBit = 4;

constexpr int64_t kNsPerSecond = 1'000'000'000;

uint64_t high_bits(uint64_t value) {
  return value >> 32U;
}
uint64_t low_bits(uint64_t value) {
  return value & UINT32_MAX;
}
uint32_t second_of(int64_t time_ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(time_ns / kNsPerSecond, 0, UINT32_MAX));
}

uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1U ^ static_cast<uint64_t>(value >> 63U);
}
int64_t from_zigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1U ^ (0 - (value & 1U)));
}

template <size_t columns>
class PackedColumns {
 public:
  void add(const std::array<uint64_t, columns>& values) {
    for (size_t column = 0; column < columns; ++column) {
      values_[column].push_back(values[column]);
    }
  }
  size_t rows() const { return values_[0].size(); }
  void pack(std::string& out) const {
    for (const auto& column : values_) {
      pack_column(column, out);
    }
  }

 private:
  std::array<std::vector<uint64_t>, columns> values_;
};

class SpanChunkEncoder {
 public:
  // Sorted by trace.
  explicit SpanChunkEncoder(std::span<const SpanRecord> spans) {
    chunk_.rows = static_cast<uint32_t>(spans.size());
    for (size_t begin = 0; begin < spans.size();) {
      size_t end = begin + 1;
      while (end < spans.size() && spans[end].trace == spans[begin].trace) {
        ++end;
      }
      add_trace(spans.subspan(begin, end - begin));
      begin = end;
    }
    chunk_.counts[kTraceCount] = static_cast<uint32_t>(traces_.rows());
    chunk_.counts[kOutsideCount] = static_cast<uint32_t>(outside_.rows());
  }

  void add_to(SegmentFileWriter& writer) const {
    std::array<std::string, SpanSegment::kSchema.parts> parts;
    traces_.pack(parts[kTraces]);
    ids_.pack(parts[kIds]);
    outside_.pack(parts[kIds]);
    fields_.pack(parts[kFields]);
    writer.add(chunk_, parts);
  }

 private:
  void add_trace(std::span<const SpanRecord> spans) {
    const traces::TraceId& trace = spans.front().trace;
    const int64_t first_ns = std::ranges::min(spans, {}, &SpanRecord::start_ns).start_ns;
    traces_.add({high_bits(trace.high), low_bits(trace.high), high_bits(trace.low), low_bits(trace.low),
                 spans.size(), static_cast<uint64_t>(first_ns)});
    places_.clear();
    for (size_t place = 0; place < spans.size(); ++place) {
      places_.emplace_back(spans[place].id, place);
    }
    std::ranges::sort(places_);
    for (const SpanRecord& span : spans) {
      add_span(span, first_ns);
    }
  }

  void add_span(const SpanRecord& span, int64_t first_ns) {
    ids_.add({high_bits(span.id), low_bits(span.id)});
    const uint64_t flags = static_cast<uint64_t>(span.status) | (span.is_shared ? kSharedBit : 0);
    fields_.add({static_cast<uint64_t>(span.start_ns - first_ns), zigzag(span.end_ns - span.start_ns),
                 parent_of(span), span.method, span.process, flags, span.attributes});
    const std::array<uint32_t, SpanSegment::kSchema.columns> values{
        static_cast<uint32_t>(high_bits(span.trace.high)),
        static_cast<uint32_t>(high_bits(span.trace.low)),
        second_of(first_ns_of(span)),
        second_of(last_ns_of(span)),
        span.method,
        span.process};
    for (size_t column = 0; column < values.size(); ++column) {
      Zone& zone = chunk_.zones[column];
      const bool is_first = ids_.rows() == 1;
      zone.min = is_first ? values[column] : std::min(zone.min, values[column]);
      zone.max = is_first ? values[column] : std::max(zone.max, values[column]);
    }
  }

  uint64_t parent_of(const SpanRecord& span) {
    if (span.parent == 0) {
      return kNoParent;
    }
    const auto found =
        std::ranges::lower_bound(places_, span.parent, {}, &std::pair<traces::SpanId, size_t>::first);
    if (found != places_.end() && found->first == span.parent) {
      return kFirstPlace + found->second;
    }
    outside_.add({high_bits(span.parent), low_bits(span.parent)});
    return kOutside;
  }

  SegmentChunk chunk_;
  PackedColumns<6> traces_;
  PackedColumns<2> ids_;
  PackedColumns<2> outside_;
  PackedColumns<7> fields_;
  std::vector<std::pair<traces::SpanId, size_t>> places_;  // of the trace at hand
};

// In a file.
auto place_of(const SpanRecord& span) {
  return std::tuple(span.trace, span.start_ns, span.id, span.is_shared, span.method);
}

// Columns of a part, one after the other.
template <size_t columns>
using SpanColumns = std::array<std::vector<uint64_t>, columns>;

template <size_t columns>
Status read_columns_of(ByteReader& reader, size_t rows, SpanColumns<columns>& values) {
  for (auto& column : values) {
    const auto packed = PackedColumn::read(reader, rows);
    if (!packed) {
      return propagate(packed);
    }
    packed->unpack(column);
  }
  return {};
}

uint64_t joined(uint64_t high, uint64_t low) {
  return high << 32U | low;
}

// A chunk as it is unpacked: what its numbers say is checked as they are used.
class SpanChunkDecoder {
 public:
  // Whether the file has attributes, and whether they are wanted.
  SpanChunkDecoder(const SegmentChunk& chunk, const SpanDictionaries::Sizes& sizes, bool has_attributes,
                   bool wants_attributes)
      : chunk_(chunk),
        sizes_(sizes),
        has_attributes_(has_attributes),
        wants_attributes_(has_attributes && wants_attributes) {}

  Status unpack(const std::array<Bytes, SpanSegment::kSchema.parts>& parts) {
    ByteReader traces(parts[kTraces]);
    ByteReader ids(parts[kIds]);
    ByteReader fields(parts[kFields]);
    Status read = read_columns_of(traces, chunk_.counts[kTraceCount], traces_);
    read = read ? read_columns_of(ids, chunk_.rows, ids_) : read;
    read = read ? read_columns_of(ids, chunk_.counts[kOutsideCount], outside_) : read;
    read = read ? read_columns_of(fields, chunk_.rows, fields_) : read;
    if (read && wants_attributes_) {
      read = read_columns_of(fields, chunk_.rows, attributes_);
    } else if (read && has_attributes_) {
      const auto passed_over = PackedColumn::read(fields, chunk_.rows);
      read = passed_over ? Status() : propagate(passed_over);
    }
    const bool has_more = traces.remaining() + ids.remaining() + fields.remaining() != 0;
    return read && has_more ? Status(fail(ErrorCode::kCorrupt, "it has bytes behind its columns")) : read;
  }

  // False where the numbers do not fit together.
  bool add_to(std::vector<SpanRecord>& spans) {
    for (size_t trace = 0; trace < chunk_.counts[kTraceCount]; ++trace) {
      const uint64_t count = traces_[4][trace];
      if (count == 0 || count > chunk_.rows - next_) {
        return false;
      }
      for (const size_t end = next_ + count, begin = next_; next_ < end; ++next_) {
        if (!add_span(trace, begin, count, spans)) {
          return false;
        }
      }
    }
    return next_ == chunk_.rows && next_outside_ == chunk_.counts[kOutsideCount];
  }

 private:
  bool add_span(size_t trace, size_t begin, uint64_t count, std::vector<SpanRecord>& spans) {
    SpanRecord span;
    span.trace = {joined(traces_[0][trace], traces_[1][trace]), joined(traces_[2][trace], traces_[3][trace])};
    span.id = joined(ids_[0][next_], ids_[1][next_]);
    const uint64_t flags = fields_[5][next_];
    const uint64_t attributes = wants_attributes_ ? attributes_[0][next_] : 0;
    const auto first_ns = static_cast<int64_t>(traces_[5][trace]);
    const bool overflows =
        __builtin_add_overflow(first_ns, static_cast<int64_t>(fields_[0][next_]), &span.start_ns) ||
        __builtin_add_overflow(span.start_ns, from_zigzag(fields_[1][next_]), &span.end_ns);
    const bool fits = !overflows && is_possible(span) && fields_[3][next_] < sizes_.methods &&
                      fields_[4][next_] < sizes_.processes && attributes < sizes_.attribute_sets &&
                      (flags & kStatusBits) <= static_cast<uint64_t>(traces::SpanStatus::kError) &&
                      flags <= (kStatusBits | kSharedBit);
    if (!fits || !set_parent(begin, count, span)) {
      return false;
    }
    span.method = static_cast<uint32_t>(fields_[3][next_]);
    span.process = static_cast<uint32_t>(fields_[4][next_]);
    span.attributes = static_cast<uint32_t>(attributes);
    span.status = static_cast<traces::SpanStatus>(flags & kStatusBits);
    span.is_shared = (flags & kSharedBit) != 0;
    spans.push_back(span);
    return true;
  }

  bool set_parent(size_t begin, uint64_t count, SpanRecord& span) {
    const uint64_t parent = fields_[2][next_];
    if (parent == kOutside) {
      if (next_outside_ == chunk_.counts[kOutsideCount]) {
        return false;
      }
      span.parent = joined(outside_[0][next_outside_], outside_[1][next_outside_]);
      ++next_outside_;
    } else if (parent >= kFirstPlace) {
      if (parent - kFirstPlace >= count) {
        return false;
      }
      const size_t place = begin + (parent - kFirstPlace);
      span.parent = joined(ids_[0][place], ids_[1][place]);
    }
    return true;
  }

  const SegmentChunk& chunk_;
  const SpanDictionaries::Sizes& sizes_;
  const bool has_attributes_;
  const bool wants_attributes_;
  SpanColumns<6> traces_;
  SpanColumns<2> ids_;
  SpanColumns<2> outside_;
  SpanColumns<6> fields_;
  SpanColumns<1> attributes_;
  size_t next_ = 0;          // span
  size_t next_outside_ = 0;  // parent
};

}  // namespace

std::string encode_span_segment(std::vector<SpanRecord> spans) {
  std::ranges::sort(spans, {}, place_of);
  SegmentFileWriter writer(SpanSegment::kSchema);
  for (size_t begin = 0; begin < spans.size(); begin += kSpansOfChunk) {
    const size_t count = std::min(kSpansOfChunk, spans.size() - begin);
    SpanChunkEncoder(std::span(spans).subspan(begin, count)).add_to(writer);
  }
  return writer.finish();
}

std::string new_span_file_name() {
  constexpr size_t kRandomBytes = 8;
  return to_hex(random_bytes(kRandomBytes)) + ".spans";
}

void SpanSegmentWriter::add_trace(std::vector<SpanRecord>& spans) {
  std::ranges::sort(spans, {}, place_of);
  chunk_.insert(chunk_.end(), spans.begin(), spans.end());
  spans_ += spans.size();
  while (chunk_.size() >= kSpansOfChunk) {
    add_chunk(kSpansOfChunk);
  }
}

void SpanSegmentWriter::add_chunk(size_t spans) {
  SpanChunkEncoder(std::span(chunk_).first(spans)).add_to(file_);
  chunk_.erase(chunk_.begin(), chunk_.begin() + static_cast<ptrdiff_t>(spans));
}

std::string SpanSegmentWriter::finish() {
  if (!chunk_.empty()) {
    add_chunk(chunk_.size());
  }
  return file_.finish();
}

Result<SpanSegment> SpanSegment::open(const std::string& path) {
  SpanSegment segment;
  auto file = SegmentFile::open(path, kSchema);
  if (!file && file.error().code == ErrorCode::kUnsupported) {
    auto older = SegmentFile::open(path, kSchemaWithoutAttributes);
    // A file of that schema which fails does so for what is said now: damage, or no descriptors and no memory.
    if (older || older.error().code != ErrorCode::kUnsupported) {
      file = std::move(older);
      segment.has_attributes_ = false;
    }
  }
  if (!file) {
    return propagate(file);
  }
  segment.file_ = std::move(*file);
  for (const SegmentChunk& chunk : segment.file_.chunks()) {
    if (chunk.rows > kSpansOfChunk || chunk.counts[kTraceCount] > chunk.rows ||
        chunk.counts[kOutsideCount] > chunk.rows) {
      return fail(ErrorCode::kCorrupt, "segment {} is damaged: its directory does not fit together", path);
    }
  }
  return segment;
}

bool SpanSegment::may_hold(size_t chunk, const TimeSpan& times,
                           const std::optional<traces::TraceId>& trace) const {
  const auto& zones = file_.chunks()[chunk].zones;
  const bool is_of_times = times.to_ns > 0 && zones[kFirstSecond].min <= second_of(times.to_ns) &&
                           zones[kLastSecond].max >= second_of(times.from_ns);
  return is_of_times &&
         (!trace || (zones[kTraceHigh].contains(static_cast<uint32_t>(high_bits(trace->high))) &&
                     zones[kTraceLow].contains(static_cast<uint32_t>(high_bits(trace->low)))));
}

Status SpanSegment::read(size_t chunk, const SpanDictionaries::Sizes& sizes, std::vector<SpanRecord>& spans,
                         bool with_attributes) const {
  std::array<Bytes, kSchema.parts> parts;
  for (size_t part = 0; part < parts.size(); ++part) {
    const auto bytes = file_.part(chunk, part);
    if (!bytes) {
      return propagate(bytes);
    }
    parts[part] = *bytes;
  }
  SpanChunkDecoder decoder(file_.chunks()[chunk], sizes, has_attributes_, with_attributes);
  if (const Status unpacked = decoder.unpack(parts); !unpacked) {
    return file_.damaged(chunk, unpacked.error().message);
  }
  const size_t before = spans.size();
  if (!decoder.add_to(spans)) {
    spans.resize(before);
    return file_.damaged(chunk, "its numbers do not fit together");
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    file_.set_checked(chunk, part);
  }
  return {};
}

}  // namespace plimsoll::store
