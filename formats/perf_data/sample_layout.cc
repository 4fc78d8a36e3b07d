#include "formats/perf_data/sample_layout.h"

#include <bit>

namespace plimsoll::perf_data {
namespace {

size_t words_of(uint64_t sample_type, uint64_t fields) {
  return sizeof(uint64_t) * static_cast<size_t>(std::popcount(sample_type & fields));
}

std::optional<size_t> id_at(uint64_t sample_type) {
  constexpr uint64_t kBefore = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  if ((sample_type & PERF_SAMPLE_IDENTIFIER) != 0) {
    return sizeof(perf_event_header);
  }
  return (sample_type & PERF_SAMPLE_ID) != 0
             ? std::optional(sizeof(perf_event_header) + words_of(sample_type, kBefore))
             : std::nullopt;
}

// struct sample_id: PID and TID, time, ID, stream ID, CPU, identifier.
std::optional<size_t> trailer_id_from_end(uint64_t sample_type) {
  constexpr uint64_t kFromId = PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
  if ((sample_type & PERF_SAMPLE_IDENTIFIER) != 0) {
    return sizeof(uint64_t);
  }
  return (sample_type & PERF_SAMPLE_ID) != 0 ? std::optional(words_of(sample_type, kFromId)) : std::nullopt;
}

constexpr uint32_t kFirstOfPerf = 64;  // types of records that the kernel does not write
constexpr uint64_t kTrailerFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

std::optional<size_t> trailer_time_from_end(uint64_t sample_type) {
  return (sample_type & PERF_SAMPLE_TIME) != 0
             ? std::optional(words_of(sample_type, kTrailerFields & ~uint64_t{PERF_SAMPLE_TID}))
             : std::nullopt;
}

std::optional<size_t> trailer_id_of(const perf_event_attr& attr) {
  return attr.sample_id_all ? trailer_id_from_end(attr.sample_type) : std::nullopt;
}

// Whether it is known which counters a sample has read, and how.
bool has_known_readings(const perf_event_attr& attr) {
  constexpr uint64_t kKnown = PERF_FORMAT_MAX - 1;
  const bool is_nameless =
      (attr.read_format & PERF_FORMAT_GROUP) != 0 && (attr.read_format & PERF_FORMAT_ID) == 0;
  return (attr.sample_type & PERF_SAMPLE_READ) == 0 || ((attr.read_format & ~kKnown) == 0 && !is_nameless);
}

uint64_t word_at(Bytes record, size_t offset) {
  ByteReader reader(record);
  reader.seek(offset);
  return reader.read<uint64_t>();
}

}  // namespace

RecordLayouts::RecordLayouts(const std::vector<RecordedEvent>& events) : events_(&events) {
  for (uint32_t index = 0; index < events.size(); ++index) {
    const perf_event_attr& attr = events[index].attr;
    trailers_.push_back(attr.sample_id_all ? Trailer{words_of(attr.sample_type, kTrailerFields),
                                                     trailer_time_from_end(attr.sample_type)}
                                           : Trailer{});
    for (const uint64_t id : events[index].ids) {
      event_of_id_.try_emplace(id, index);
    }
  }
  id_at_ = id_at(events.front().attr.sample_type);
  trailer_id_from_end_ = trailer_id_of(events.front().attr);
}

Result<RecordLayouts> RecordLayouts::make(const std::vector<RecordedEvent>& events) {
  RecordLayouts layouts(events);
  for (size_t index = 0; index < events.size(); ++index) {
    const perf_event_attr& attr = events[index].attr;
    if (!has_known_readings(attr)) {
      return fail(ErrorCode::kUnsupported, "samples of {} have counter values without event IDs ({:#x})",
                  events[index].name, uint64_t{attr.read_format});
    }
    const bool has_id_there =
        id_at(attr.sample_type) == layouts.id_at_ && trailer_id_of(attr) == layouts.trailer_id_from_end_;
    const bool needs_none = layouts.trailer_id_from_end_ || layouts.trailers_[index] == layouts.trailers_[0];
    if (!has_id_there || !needs_none) {
      return fail(ErrorCode::kUnsupported,
                  "the layouts of samples of {} and {} differ so that they cannot be distinguished",
                  events.front().name, events[index].name);
    }
  }
  return layouts;
}

std::optional<uint32_t> RecordLayouts::event_of_id(uint64_t id) const {
  const auto known = event_of_id_.find(id);
  return known == event_of_id_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<uint32_t> RecordLayouts::event_of_sample(Bytes record) const {
  if (!id_at_ || events_->size() == 1) {
    return 0;
  }
  return event_of_id(word_at(record, *id_at_));
}

std::optional<uint32_t> RecordLayouts::event_of_other(Bytes record) const {
  if (!trailer_id_from_end_ || events_->size() == 1) {
    return 0;
  }
  return record.size() < sizeof(perf_event_header) + *trailer_id_from_end_
             ? std::nullopt
             : event_of_id(word_at(record, record.size() - *trailer_id_from_end_));
}

// perf writes records of its own making as the first event's, with the ID 0.
const RecordLayouts::Trailer& RecordLayouts::trailer_of(Bytes record) const {
  return trailers_[event_of_other(record).value_or(0)];
}

uint64_t RecordLayouts::time_ns(Bytes record) const {
  const auto header = ByteReader(record).read<perf_event_header>();
  if (header.type >= kFirstOfPerf) {
    return 0;
  }
  if (header.type != PERF_RECORD_SAMPLE) {
    const Trailer& trailer = trailer_of(record);
    const bool has_time = trailer.time_from_end && record.size() >= sizeof header + trailer.size_bytes;
    return has_time ? word_at(record, record.size() - *trailer.time_from_end) : 0;
  }
  const auto event = event_of_sample(record);
  const uint64_t fields = event ? (*events_)[*event].attr.sample_type : 0;
  constexpr uint64_t kBefore = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  return (fields & PERF_SAMPLE_TIME) == 0 ? 0 : word_at(record, sizeof header + words_of(fields, kBefore));
}

Bytes RecordLayouts::without_trailer(Bytes record) const {
  const size_t trailer_bytes = trailer_of(record).size_bytes;
  return record.first(record.size() < trailer_bytes ? 0 : record.size() - trailer_bytes);
}

}  // namespace plimsoll::perf_data
