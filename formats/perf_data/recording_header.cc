#include "formats/perf_data/recording_header.h"

#include "base/printable.h"
#include "formats/perf_data/event_names.h"
#include "formats/perf_data/features.h"
#include "formats/perf_data/record_stream.h"

namespace plimsoll::perf_data {
namespace {

constexpr uint64_t kEventTypeNameBytes = 64;
constexpr uint64_t kUpdateOfName = 2;

// {u64 config; char name[64]}
void read_event_type(ByteReader& reader, const Limits& limits, Metadata& metadata) {
  const auto config = reader.read<uint64_t>();
  const std::string_view name =
      as_text(reader.bytes(std::min<uint64_t>(kEventTypeNameBytes, reader.remaining())));
  if (metadata.event_types.size() < limits.max_events) {
    metadata.event_types.emplace_back(config, name.substr(0, name.find('\0')));
  }
}

Result<std::vector<uint64_t>> read_ids(BlockReader& file, Section section, const Limits& limits) {
  if (section.size_bytes / sizeof(uint64_t) > limits.max_event_ids) {
    return fail(ErrorCode::kTooLarge, "an event has {} bytes of IDs", section.size_bytes);
  }
  const auto bytes = file.read(section.offset, section.size_bytes, "the list of an event's IDs");
  if (!bytes) {
    return propagate(bytes);
  }
  ByteReader reader(*bytes);
  std::vector<uint64_t> ids(bytes->size() / sizeof(uint64_t));
  for (uint64_t& id : ids) {
    id = reader.read<uint64_t>();
  }
  return ids;
}

// Entries of {attribute; Section ids}.
Status read_attributes(BlockReader& file, const FileHeader& header, const Limits& limits,
                       Metadata& metadata) {
  if (header.attribute_bytes < PERF_ATTR_SIZE_VER0 + sizeof(Section) || header.attribute_bytes > 4096 ||
      header.attributes.size_bytes / header.attribute_bytes > limits.max_events) {
    return fail(ErrorCode::kCorrupt, "the header says that its events take {} bytes, {} each",
                header.attributes.size_bytes, header.attribute_bytes);
  }
  const uint64_t count = header.attributes.size_bytes / header.attribute_bytes;
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = file.read(header.attributes.offset + i * header.attribute_bytes,
                                 header.attribute_bytes, "the attributes of an event");
    if (!entry) {
      return propagate(entry);
    }
    const size_t ids_at = entry->size() - sizeof(Section);
    const auto section = ByteReader(entry->subspan(ids_at)).read<Section>();
    // The entry's size counts, whatever the attributes say: some writers left their size 0.
    perf_event_attr attr{};
    std::memcpy(&attr, entry->data(), std::min(ids_at, sizeof attr));
    auto ids = read_ids(file, section, limits);
    if (!ids) {
      return propagate(ids);
    }
    if (auto added = add_event(attr, std::move(*ids), limits, metadata); !added) {
      return added;
    }
  }
  return {};
}

Status read_event_types(BlockReader& file, const FileHeader& header, const Limits& limits,
                        Metadata& metadata) {
  const Section section = header.event_types;
  constexpr uint64_t kEntryBytes = sizeof(uint64_t) + kEventTypeNameBytes;
  for (uint64_t at = 0; at + kEntryBytes <= section.size_bytes && at / kEntryBytes < limits.max_events;
       at += kEntryBytes) {
    const auto entry = file.read(section.offset + at, kEntryBytes, "the name of an event");
    if (!entry) {
      return propagate(entry);
    }
    ByteReader reader(*entry);
    read_event_type(reader, limits, metadata);
  }
  return {};
}

// Behind the records: a Section for each feature in the header's bits, in their order.
Status read_features(BlockReader& file, const FileHeader& header, const Limits& limits, Metadata& metadata) {
  uint64_t at = header.data.offset + header.data.size_bytes;
  for (unsigned bit = 0; bit < kFeatureBits; ++bit) {
    if (!header.has_feature(bit)) {
      continue;
    }
    const auto entry = file.read(at, sizeof(Section), "the place of a feature");
    if (!entry) {
      return propagate(entry);
    }
    const auto section = ByteReader(*entry).read<Section>();
    at += sizeof(Section);
    // The bulky ones (tracing data, traces) are not read at all.
    if (section.size_bytes > limits.max_feature_bytes) {
      continue;
    }
    const auto content = file.read(section.offset, section.size_bytes, "a feature");
    if (!content) {
      return propagate(content);
    }
    if (auto read = read_feature(bit, *content, limits, metadata); !read) {
      return propagate(read, "reading feature {} at offset {}", bit, section.offset);
    }
  }
  return {};
}

// {u64 what; u64 event ID; content}
void read_event_update(ByteReader& reader, Metadata& metadata) {
  const auto what = reader.read<uint64_t>();
  const auto id = reader.read<uint64_t>();
  const std::string_view text = as_text(reader.bytes(reader.remaining()));
  const auto event = metadata.event_of_first_id.find(id);
  if (what == kUpdateOfName && event != metadata.event_of_first_id.end()) {
    metadata.events[event->second].name = text.substr(0, text.find('\0'));
  }
}

Status read_attribute_record(ByteReader& reader, const Limits& limits, Metadata& metadata) {
  const auto attr = read_attribute(reader);
  if (!attr) {
    return propagate(attr);
  }
  std::vector<uint64_t> ids;
  while (reader.remaining() >= sizeof(uint64_t)) {
    ids.push_back(reader.read<uint64_t>());
  }
  return add_event(*attr, std::move(ids), limits, metadata);
}

// A record that describes the recording; others are left alone.
Status read_description(const RawRecord& record, const Limits& limits, Metadata& metadata) {
  ByteReader reader(record.bytes.subspan(sizeof(perf_event_header)));
  switch (static_cast<RecordType>(record.header.type)) {
    case RecordType::kAttribute:
      return read_attribute_record(reader, limits, metadata);
    case RecordType::kEventType:
      read_event_type(reader, limits, metadata);
      break;
    case RecordType::kBuildId:
      return read_build_id(reader.bytes(reader.remaining()), record.header.misc, limits, metadata);
    case RecordType::kEventUpdate:
      read_event_update(reader, metadata);
      break;
    case RecordType::kFeature: {
      const auto number = reader.read<uint64_t>();
      return read_feature(number, reader.bytes(reader.remaining()), limits, metadata);
    }
    default:
      return {};
  }
  return reader.ok() ? Status() : fail(ErrorCode::kCorrupt, "it ends too soon");
}

// Damage among the records is named when they are imported.
Status read_descriptions(BlockReader& file, Section records, const Limits& limits, Metadata& metadata,
                         DamageLog& damage) {
  DamageLog named_later;
  RecordStream stream(file, records, limits, named_later);
  while (true) {
    const auto record = stream.next();
    if (!record) {
      return propagate(record);
    }
    if (record->bytes.empty()) {
      return {};
    }
    const auto read = read_description(*record, limits, metadata);
    if (!read && read.error().code != ErrorCode::kCorrupt) {
      return propagate(read, "reading the record at offset {}, of type {}", record->offset,
                       record->header.type);
    }
    if (!read) {
      damage.add_stretch(record->offset, record->bytes.size(), read.error().message);
    }
  }
}

// Where the records of a file lie: to its end, where perf was killed before it wrote how many there are, or the file was cut.
// Nothing follows them then.
Section records_of(const FileHeader& header, uint64_t file_bytes, DamageLog& damage) {
  constexpr const char* kMissing =
      "build IDs, names of events and the machine's name, which follow the records, are missing";
  const uint64_t left_bytes = file_bytes - std::min(file_bytes, header.data.offset);
  if (header.data.size_bytes == 0 && left_bytes > 0) {
    damage.add(fmt::format("perf did not finish the recording (its header says that it holds no records); {}",
                           kMissing));
    return {header.data.offset, left_bytes};
  }
  if (header.data.size_bytes > left_bytes) {
    damage.add(fmt::format(
        "the recording was cut off: its records take {} bytes from offset {} on, but the file ends at {}; {}",
        header.data.size_bytes, header.data.offset, file_bytes, kMissing));
    return {std::min(header.data.offset, file_bytes), left_bytes};
  }
  return header.data;
}

Status read_file_metadata(BlockReader& file, const FileHeader& header, const Limits& limits,
                          RecordingHeader& result, DamageLog& damage) {
  if (auto read = read_attributes(file, header, limits, result.metadata); !read) {
    return read;
  }
  result.records = records_of(header, file.size_bytes(), damage);
  // Names of events: where they cannot be read, events are named by what they are.
  for (const auto& step : {&read_features, &read_event_types}) {
    const bool follows_records = step == &read_features;
    const bool is_there = !follows_records || (result.records.size_bytes == header.data.size_bytes);
    const auto read = is_there ? step(file, header, limits, result.metadata) : Status();
    if (!read && read.error().code != ErrorCode::kCorrupt) {
      return read;
    }
    if (!read) {
      damage.add(
          fmt::format("what describes the recording cannot be read from there on: {}", read.error().message));
    }
  }
  return {};
}

}  // namespace

Result<RecordingHeader> read_recording_header(BlockReader& file, const Limits& limits, DamageLog& damage) {
  const auto header = read_file_header(file);
  if (!header) {
    return propagate(header);
  }
  RecordingHeader result;
  Metadata& metadata = result.metadata;
  Status read;
  if (header->is_pipe) {
    result.records = {kPipeHeaderBytes, file.size_bytes() - kPipeHeaderBytes};
    read = read_descriptions(file, result.records, limits, metadata, damage);
  } else {
    read = read_file_metadata(file, *header, limits, result, damage);
  }
  if (!read) {
    return propagate(read);
  }
  if (metadata.events.empty()) {
    return fail(ErrorCode::kCorrupt, "the recording has no event");
  }
  name_events(metadata);
  return result;
}

}  // namespace plimsoll::perf_data
