#include "formats/perf_data/record_stream.h"

#include <algorithm>

namespace plimsoll::perf_data {
namespace {

constexpr const char* kDamaged = "the file is damaged from there on: copy it again, or record again";

bool is_type(const RawRecord& record, RecordType type) {
  return record.header.type == static_cast<uint32_t>(type);
}

}  // namespace

uint64_t RecordStream::max_inflated_bytes(uint64_t file_bytes, const Limits& limits) {
  const bool is_huge = file_bytes > UINT64_MAX / std::max<uint64_t>(limits.max_inflation, 1);
  return std::max(limits.min_inflated_bytes, is_huge ? UINT64_MAX : file_bytes * limits.max_inflation);
}

Result<RawRecord> RecordStream::read_plain() {
  if (offset_ == end_) {
    return RawRecord{};
  }
  RawRecord record;
  record.offset = offset_;
  const auto header = file_.read(offset_, sizeof(perf_event_header), "the header of a record");
  if (!header) {
    return propagate(header);
  }
  record.header = ByteReader(*header).read<perf_event_header>();
  if (record.header.size < sizeof(perf_event_header)) {
    return with_hint(
        fail(ErrorCode::kCorrupt, "the record at offset {}, of type {}, says that it has {} bytes", offset_,
             record.header.type, record.header.size),
        kDamaged);
  }
  if (record.header.size > end_ - offset_ && end_ != file_.size_bytes()) {
    return with_hint(fail(ErrorCode::kCorrupt, "the record at offset {} has {} bytes, but records end at {}",
                          offset_, record.header.size, end_),
                     kDamaged);
  }
  const auto bytes = file_.read(offset_, record.header.size, "a record");
  if (!bytes) {
    return propagate(bytes);
  }
  record.bytes = *bytes;
  offset_ += record.header.size;
  return record;
}

Status RecordStream::pass_payload(const RawRecord& record) {
  ByteReader reader(record.bytes);
  reader.skip(sizeof(perf_event_header));
  uint64_t payload_bytes = 0;
  if (is_type(record, RecordType::kAuxTrace)) {
    payload_bytes = reader.read<uint64_t>();
  } else {
    payload_bytes = (uint64_t{reader.read<uint32_t>()} + 7) / 8 * 8;
  }
  if (!reader.ok() || payload_bytes > end_ - offset_) {
    return with_hint(
        fail(ErrorCode::kCorrupt,
             "the record at offset {}, of type {}, is followed by {} bytes, but the records end at {}",
             record.offset, record.header.type, payload_bytes, end_),
        kDamaged);
  }
  offset_ += payload_bytes;
  trace_bytes_ += is_type(record, RecordType::kAuxTrace) ? payload_bytes : 0;
  return {};
}

Status RecordStream::feed(const RawRecord& record) {
  ByteReader reader(record.bytes);
  reader.skip(sizeof(perf_event_header));
  // The later kind is padded, and tells its length.
  const uint64_t size_bytes =
      is_type(record, RecordType::kCompressed2) ? reader.read<uint64_t>() : reader.remaining();
  compressed_ = as_text(reader.bytes(size_bytes));
  if (!reader.ok()) {
    return with_hint(
        fail(ErrorCode::kCorrupt, "the compressed record at offset {} says that it holds {} bytes",
             record.offset, size_bytes),
        kDamaged);
  }
  compressed_at_ = record.offset;
  decompressor_.feed(as_bytes(compressed_));
  return {};
}

Result<Bytes> RecordStream::next_compressed() {
  auto bytes = decompressor_.next();
  return bytes ? bytes
               : with_hint(propagate(bytes, "the compressed record at offset {}", compressed_at_), kDamaged);
}

Result<RawRecord> RecordStream::next() {
  while (true) {
    const auto inner = next_compressed();
    if (!inner) {
      return propagate(inner);
    }
    if (!inner->empty()) {
      return RawRecord{ByteReader(*inner).read<perf_event_header>(), *inner, compressed_at_};
    }
    auto record = read_plain();
    if (!record || record->bytes.empty()) {
      const bool is_cut = record && decompressor_.is_within_record();
      return is_cut ? with_hint(fail(ErrorCode::kCorrupt,
                                     "the last compressed record, at offset {}, ends within a record",
                                     compressed_at_),
                                kDamaged)
                    : std::move(record);
    }
    Status done;
    if (is_type(*record, RecordType::kAuxTrace) || is_type(*record, RecordType::kTracingData)) {
      done = pass_payload(*record);
    } else if (is_type(*record, RecordType::kCompressed) || is_type(*record, RecordType::kCompressed2)) {
      done = feed(*record);
    } else {
      return record;
    }
    if (!done) {
      return propagate(done);
    }
  }
}

}  // namespace plimsoll::perf_data
