#include "formats/perf_data/features.h"

#include <algorithm>

#include "base/printable.h"
#include "formats/perf_data/file_header.h"

namespace plimsoll::perf_data {
namespace {

constexpr uint16_t kMiscBuildIdSize = 1U << 15U;
constexpr uint64_t kKnownSampleFields = PERF_SAMPLE_MAX - 1;

// {u32 length; char text[length]}, padded with zero bytes.
std::string read_text(ByteReader& reader) {
  const auto length = reader.read<uint32_t>();
  const std::string_view text = as_text(reader.bytes(length));
  return std::string(text.substr(0, text.find('\0')));
}

// Without its size an ID is padded to that of SHA-1. Linkers make none of under 8 bytes.
std::string_view without_padding(std::string_view id) {
  constexpr size_t kStepBytes = 4;
  constexpr size_t kMinBytes = 8;
  while (id.size() > kMinBytes &&
         id.substr(id.size() - kStepBytes).find_first_not_of('\0') == std::string_view::npos) {
    id.remove_suffix(kStepBytes);
  }
  return id;
}

Status read_build_ids(Bytes content, const Limits& limits, Metadata& metadata) {
  ByteReader reader(content);
  while (reader.remaining() >= sizeof(perf_event_header)) {
    const auto header = reader.read<perf_event_header>();
    const Bytes entry = reader.bytes(std::max<size_t>(header.size, sizeof header) - sizeof header);
    if (!reader.ok() || header.size <= sizeof header) {
      return fail(ErrorCode::kCorrupt, "an entry of {} bytes among the build IDs", header.size);
    }
    if (auto read = read_build_id(entry, header.misc, limits, metadata); !read) {
      return read;
    }
  }
  return {};
}

// {u32 count; u32 attribute_bytes; {attribute; u32 ids; text name; u64 id[]} [count]}
Status read_event_descriptions(ByteReader& reader, const Limits& limits, Metadata& metadata) {
  const auto count = reader.read<uint32_t>();
  const auto attribute_bytes = reader.read<uint32_t>();
  // A pipe may bring several lists.
  if (count > limits.max_events - std::min(limits.max_events, metadata.descriptions.size())) {
    return fail(ErrorCode::kTooLarge, "the recording describes {} events; at most {} are read",
                metadata.descriptions.size() + count, limits.max_events);
  }
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    reader.skip(attribute_bytes);
    const auto ids = reader.read<uint32_t>();
    EventDescription description{read_text(reader), {}};
    if (ids > reader.remaining() / sizeof(uint64_t)) {
      reader.skip(UINT64_MAX);  // marks the reader as failed before anything of that size is allocated
      break;
    }
    for (uint32_t id = 0; id < ids; ++id) {
      description.ids.push_back(reader.read<uint64_t>());
    }
    metadata.descriptions.push_back(std::move(description));
  }
  return {};
}

// {u32 count; {text name; u32 leader; u32 members} [count]}.
Status read_groups(ByteReader& reader, const Limits& limits, Metadata& metadata) {
  const auto count = reader.read<uint32_t>();
  if (count > limits.max_events - std::min(limits.max_events, metadata.groups.size())) {
    return fail(ErrorCode::kTooLarge, "the recording has {} groups of events; at most {} are read",
                metadata.groups.size() + count, limits.max_events);
  }
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    RecordedGroup group{read_text(reader)};
    group.leader = reader.read<uint32_t>();
    group.members = reader.read<uint32_t>();
    metadata.groups.push_back(std::move(group));
  }
  return {};
}

void read_clock(ByteReader& reader, Metadata& metadata) {
  reader.skip(sizeof(uint32_t));  // version
  RecordedClock clock;
  clock.clock_id = static_cast<int32_t>(reader.read<uint32_t>());
  clock.wall_ns = static_cast<int64_t>(reader.read<uint64_t>());
  clock.clock_ns = static_cast<int64_t>(reader.read<uint64_t>());
  metadata.clock = clock;
}

std::string* text_of(Feature feature, Metadata& metadata) {
  switch (feature) {
    case Feature::kHostname:
      return &metadata.hostname;
    case Feature::kOsRelease:
      return &metadata.os_release;
    case Feature::kPerfVersion:
      return &metadata.perf_version;
    case Feature::kArchitecture:
      return &metadata.architecture;
    case Feature::kCpuDescription:
      return &metadata.cpu_description;
    case Feature::kCpuId:
      return &metadata.cpu_id;
    default:
      return nullptr;
  }
}

Status read_other(Feature feature, ByteReader& reader, const Limits& limits, Metadata& metadata) {
  switch (feature) {
    case Feature::kCpuCount:
      reader.skip(sizeof(uint32_t));  // CPUs that there could be
      metadata.cpus_online = reader.read<uint32_t>();
      return {};
    case Feature::kTotalMemory:
      metadata.memory_kib = reader.read<uint64_t>();
      return {};
    case Feature::kEventDescriptions:
      return read_event_descriptions(reader, limits, metadata);
    case Feature::kGroupDescriptions:
      return read_groups(reader, limits, metadata);
    case Feature::kClockData:
      read_clock(reader, metadata);
      return {};
    default:
      return {};
  }
}

}  // namespace

Result<perf_event_attr> read_attribute(ByteReader& reader) {
  const size_t start = reader.offset();
  reader.skip(sizeof(uint32_t));  // type
  uint64_t size_bytes = reader.read<uint32_t>();
  reader.seek(start);
  // The first version left it 0.
  size_bytes = size_bytes == 0 ? PERF_ATTR_SIZE_VER0 : size_bytes;
  const Bytes bytes = reader.bytes(size_bytes);
  if (!reader.ok() || size_bytes < PERF_ATTR_SIZE_VER0) {
    return fail(ErrorCode::kCorrupt, "the attributes of an event say that they have {} bytes", size_bytes);
  }
  perf_event_attr attr{};
  std::memcpy(&attr, bytes.data(), std::min(bytes.size(), sizeof attr));
  return attr;
}

Status add_event(const perf_event_attr& attr, std::vector<uint64_t> ids, const Limits& limits,
                 Metadata& metadata) {
  size_t known_ids = ids.size();
  for (const RecordedEvent& event : metadata.events) {
    known_ids += event.ids.size();
  }
  if (metadata.events.size() >= limits.max_events || known_ids > limits.max_event_ids) {
    return fail(ErrorCode::kTooLarge, "the recording has over {} events or {} IDs of events",
                limits.max_events, limits.max_event_ids);
  }
  if ((attr.sample_type & ~kKnownSampleFields) != 0) {
    return with_hint(
        fail(ErrorCode::kUnsupported, "samples of event {} have fields that are not known ({:#x})",
             metadata.events.size() + 1, attr.sample_type & ~kKnownSampleFields),
        "the recording is of a newer perf: a newer version of this program may read it");
  }
  if (!ids.empty()) {
    metadata.event_of_first_id.try_emplace(ids.front(), static_cast<uint32_t>(metadata.events.size()));
  }
  metadata.events.push_back({attr, std::move(ids), {}});
  return {};
}

Status read_build_id(Bytes content, uint16_t misc, const Limits& limits, Metadata& metadata) {
  constexpr size_t kIdBytes = 20;
  ByteReader reader(content);
  reader.skip(sizeof(uint32_t));  // PID of a guest
  const std::string_view id = as_text(reader.bytes(kIdBytes));
  const auto size = reader.read<uint8_t>();
  reader.skip(3);
  const std::string_view name = as_text(reader.bytes(reader.remaining()));
  if (!reader.ok() || metadata.build_ids.size() >= limits.max_build_ids) {
    return fail(ErrorCode::kCorrupt, "entry {} of the build IDs has {} bytes", metadata.build_ids.size() + 1,
                content.size());
  }
  const bool has_size = (misc & kMiscBuildIdSize) != 0 && size > 0 && size <= kIdBytes;
  const std::string_view told = has_size ? id.substr(0, size) : without_padding(id);
  if (told.find_first_not_of('\0') == std::string_view::npos) {
    return {};  // perf found none
  }
  const uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  metadata.build_ids.push_back(
      {std::string(name.substr(0, name.find('\0'))), std::string(told), mode == PERF_RECORD_MISC_KERNEL});
  return {};
}

Status read_feature(uint64_t number, Bytes content, const Limits& limits, Metadata& metadata) {
  // Numbers that have no name here are those of features that are not read.
  const auto feature = static_cast<Feature>(number);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange)
  if (feature == Feature::kBuildIds) {
    return read_build_ids(content, limits, metadata);
  }
  ByteReader reader(content);
  if (std::string* const text = text_of(feature, metadata)) {
    *text = printable(read_text(reader));
  } else if (auto read = read_other(feature, reader, limits, metadata); !read) {
    return read;
  }
  return reader.ok()
             ? Status()
             : fail(ErrorCode::kCorrupt, "feature {} of {} bytes ends too soon", number, content.size());
}

}  // namespace plimsoll::perf_data
