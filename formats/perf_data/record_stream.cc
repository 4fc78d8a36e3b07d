#include "formats/perf_data/record_stream.h"

#include <algorithm>

namespace plimsoll::perf_data {
namespace {

// The kernel has 22 types now, perf some 20 from 64 on; both grow slowly.
constexpr uint32_t kMaxType = 255;
constexpr uint32_t kMaxKnownKernelType = 24;
constexpr uint32_t kMinPerfType = 64;
constexpr uint32_t kMaxKnownPerfType = 90;
// So many sound records in a row are no accident.
constexpr size_t kSoundRow = 4;
// A file with more damage than this holds nothing to look for.
constexpr uint64_t kMaxStretches = 1000;

bool is_type(const RawRecord& record, RecordType type) {
  return record.header.type == static_cast<uint32_t>(type);
}

}  // namespace

uint64_t RecordStream::max_inflated_bytes(uint64_t file_bytes, const Limits& limits) {
  const bool is_huge = file_bytes > UINT64_MAX / std::max<uint64_t>(limits.max_inflation, 1);
  return std::max(limits.min_inflated_bytes, is_huge ? UINT64_MAX : file_bytes * limits.max_inflation);
}

Result<RawRecord> RecordStream::read_plain() {
  read_at_ = offset_;
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
    return fail(ErrorCode::kCorrupt, "the record at offset {}, of type {}, says that it has {} bytes",
                offset_, record.header.type, record.header.size);
  }
  if (record.header.type == 0 || record.header.type > kMaxType) {
    return fail(ErrorCode::kCorrupt,
                "the record at offset {} says that it is of type {}, which does not exist", offset_,
                record.header.type);
  }
  if (record.header.type < kMinPerfType && record.header.size % sizeof(perf_event_header) != 0) {
    return fail(ErrorCode::kCorrupt,
                "the record at offset {}, of type {}, says that it has {} bytes, which is no multiple of 8",
                offset_, record.header.type, record.header.size);
  }
  if (record.header.size > end_ - offset_ && end_ != file_.size_bytes()) {
    return fail(ErrorCode::kCorrupt, "the record at offset {} has {} bytes, but records end at {}", offset_,
                record.header.size, end_);
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
    return fail(ErrorCode::kCorrupt,
                "the record at offset {}, of type {}, is followed by {} bytes, but the records end at {}",
                record.offset, record.header.type, payload_bytes, end_);
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
    return fail(ErrorCode::kCorrupt, "the compressed record at offset {} says that it holds {} bytes",
                record.offset, size_bytes);
  }
  compressed_at_ = record.offset;
  decompressor_.feed(as_bytes(compressed_));
  return {};
}

Result<Bytes> RecordStream::next_compressed() {
  auto bytes = decompressor_.next();
  return bytes ? bytes : propagate(bytes, "the compressed record at offset {}", compressed_at_);
}

Result<RawRecord> RecordStream::next_unchecked() {
  while (true) {
    const auto inner = next_compressed();
    if (!inner) {
      return propagate(inner);
    }
    if (!inner->empty()) {
      return RawRecord{ByteReader(*inner).read<perf_event_header>(), *inner, compressed_at_, true};
    }
    auto record = read_plain();
    if (!record || record->bytes.empty()) {
      const bool is_cut = record && decompressor_.is_within_record();
      return is_cut ? fail(ErrorCode::kCorrupt,
                           "the last compressed record, at offset {}, ends within a record", compressed_at_)
                    : std::move(record);
    }
    Status done;
    if (is_type(*record, RecordType::kAuxTrace) || is_type(*record, RecordType::kTracingData)) {
      done = pass_payload(*record);
    } else if (is_type(*record, RecordType::kCompressed) || is_type(*record, RecordType::kCompressed2)) {
      has_compressed_ = true;
      done = feed(*record);
    } else {
      return record;
    }
    if (!done) {
      return propagate(done);
    }
  }
}

Result<RawRecord> RecordStream::next() {
  while (true) {
    auto record = next_unchecked();
    if (record && record->bytes.empty()) {
      return record;
    }
    Status sound;
    if (!record) {
      sound = propagate(record);
    } else if (check_) {
      sound = check_(record->bytes, false);
      sound = sound ? sound
                    : propagate(sound, "the record at offset {}, of type {} and {} bytes", record->offset,
                                record->header.type, record->bytes.size());
    }
    if (sound) {
      return record;
    }
    if (sound.error().code != ErrorCode::kCorrupt) {
      return propagate(sound);
    }
    if (auto passed = pass_damage(record.value_or(RawRecord{}), sound.error()); !passed) {
      return propagate(passed);
    }
  }
}

// `record` is the one that is not sound; none where it could not even be read.
Status RecordStream::pass_damage(const RawRecord& record, const Error& error) {
  if (record.was_compressed) {
    damage_.add_stretch(record.offset, record.bytes.size(), error.message);
    return {};
  }
  uint64_t next = end_;
  if (!has_compressed_ && damage_.stretches() < kMaxStretches) {
    const auto place = next_sound_place(read_at_ + sizeof(perf_event_header));
    if (!place) {
      return propagate(place);
    }
    next = *place;
  }
  damage_.add_stretch(read_at_, next - read_at_, error.message);
  offset_ = next;
  decompressor_.stop();
  return {};
}

// The end of the records where there is none.
Result<uint64_t> RecordStream::next_sound_place(uint64_t from) {
  for (uint64_t at = from; at < end_ && end_ - at >= sizeof(perf_event_header);
       at += sizeof(perf_event_header)) {
    const auto begin = sound_records_begin(at);
    if (!begin) {
      return propagate(begin);
    }
    if (*begin) {
      return at;
    }
  }
  return end_;
}

// All records that the kernel writes are padded to 8 bytes; perf writes some that are not, which are not looked for.
Result<bool> RecordStream::sound_records_begin(uint64_t at) {
  for (size_t row = 0; row < kSoundRow && at < end_; ++row) {
    if (end_ - at < sizeof(perf_event_header)) {
      return row > 0;
    }
    const auto begin = file_.read(at, sizeof(perf_event_header), "the header of a record");
    if (!begin) {
      return propagate(begin);
    }
    const auto header = ByteReader(*begin).read<perf_event_header>();
    const bool is_known =
        header.type > 0 && (header.type <= kMaxKnownKernelType ||
                            (header.type >= kMinPerfType && header.type <= kMaxKnownPerfType));
    const bool is_padded = header.size >= sizeof header && header.size % sizeof header == 0;
    if (!is_known || !is_padded || header.type == static_cast<uint32_t>(RecordType::kCompressed) ||
        header.type == static_cast<uint32_t>(RecordType::kCompressed2)) {
      return false;
    }
    // The last record of a file may be cut off, and what follows a trace's record is not looked at.
    const bool has_payload = header.type == static_cast<uint32_t>(RecordType::kAuxTrace) ||
                             header.type == static_cast<uint32_t>(RecordType::kTracingData);
    if (header.size > end_ - at || has_payload) {
      return row > 0;
    }
    const auto bytes = file_.read(at, header.size, "a record");
    if (!bytes) {
      return propagate(bytes);
    }
    if (check_ && !check_(*bytes, true)) {
      return false;
    }
    at += header.size;
  }
  return true;
}

}  // namespace plimsoll::perf_data
