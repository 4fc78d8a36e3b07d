#include "proto/profile_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "proto/parse_cost.h"
#include "proto/unknown_fields.h"

namespace plimsoll::wire {
namespace {

// Pieces of an arena double up to the largest, so that half of one is wasted at most.
constexpr size_t kFirstBlockBytes = size_t{64} << 10;
constexpr size_t kMaxBlockBytes = size_t{4} << 20;

constexpr std::string_view kMagic = "PLIMPROF";
constexpr int kCompressionLevel = 3;

struct FieldLimit {
  int field;
  uint64_t max_elements;
  uint64_t max_bytes;
};

// Repeated messages cost far more memory decoded than encoded (an empty one: 2 bytes against about 100), so
// they are counted in the bytes before Protobuf allocates any. Columns of numbers are bounded by
// max_decoded_bytes.
constexpr std::array<FieldLimit, 15> kFieldLimits{{
    {RawProfile::kAssignmentFieldNumber, 1, uint64_t{1} << 20},
    {RawProfile::kEventsFieldNumber, 1000, uint64_t{1} << 20},
    {RawProfile::kBinariesFieldNumber, 200'000, uint64_t{64} << 20},
    {RawProfile::kProcessesFieldNumber, 1'000'000, uint64_t{128} << 20},
    {RawProfile::kThreadsFieldNumber, 2'000'000, uint64_t{128} << 20},
    {RawProfile::kMappingsFieldNumber, 2'000'000, uint64_t{128} << 20},
    {RawProfile::kFramesFieldNumber, 2'000'000, uint64_t{128} << 20},
    {RawProfile::kSamplesFieldNumber, 1000, UINT64_MAX},
    {RawProfile::kLabelSetsFieldNumber, 100'000, uint64_t{4} << 20},
    {RawProfile::kBranchesFieldNumber, 1000, UINT64_MAX},
    {RawProfile::kStackProblemsFieldNumber, 100, 4096},
    {RawProfile::kKernelSymbolsFieldNumber, 1, uint64_t{64} << 20},
    {RawProfile::kNotesFieldNumber, 1000, uint64_t{1} << 20},
    {RawProfile::kMissingEventsFieldNumber, 1000, uint64_t{1} << 20},
    {RawProfile::kCostFieldNumber, 1, uint64_t{1} << 16},
}};
constexpr std::array<FieldLimit, 1> kKernelSymbolsLimits{{
    {KernelSymbols::kImagesFieldNumber, 20'000, UINT64_MAX},
}};

// The content of a length-delimited field, without its length.
Bytes length_delimited(Bytes field) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(field.data()),
                                                static_cast<int>(field.size()));
  uint32_t length = 0;
  stream.ReadVarint32(&length);
  return field.subspan(field.size() - std::min<size_t>(length, field.size()));
}

// Walks the message's own fields without building anything.
Status check_field_limits(Bytes message, const google::protobuf::Descriptor& type,
                          std::span<const FieldLimit> limits) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(message.data()),
                                                static_cast<int>(message.size()));
  std::vector<uint64_t> elements(limits.size());
  std::vector<uint64_t> bytes(limits.size());
  while (const uint32_t tag = stream.ReadTag()) {
    const int start = stream.CurrentPosition();
    if (!WireFormatLite::SkipField(&stream, tag)) {
      return fail(ErrorCode::kCorrupt, "the profile's message is malformed after byte {}", start);
    }
    const Bytes field =
        message.subspan(static_cast<size_t>(start), static_cast<size_t>(stream.CurrentPosition() - start));
    for (size_t i = 0; i < limits.size(); ++i) {
      if (limits[i].field != WireFormatLite::GetTagFieldNumber(tag)) {
        continue;
      }
      ++elements[i];
      bytes[i] += field.size();
      if (elements[i] > limits[i].max_elements || bytes[i] > limits[i].max_bytes) {
        return with_field(
            fail(ErrorCode::kTooLarge, "the profile has over {} entries or {} bytes in one list",
                 limits[i].max_elements, limits[i].max_bytes),
            type.FindFieldByNumber(limits[i].field)->name());
      }
    }
    if (&type == RawProfile::descriptor() &&
        tag == WireFormatLite::MakeTag(RawProfile::kKernelSymbolsFieldNumber,
                                       WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (auto ok =
              check_field_limits(length_delimited(field), *KernelSymbols::descriptor(), kKernelSymbolsLimits);
          !ok) {
        return with_field(propagate(ok), "kernel_symbols");
      }
    }
  }
  return {};
}

Result<std::string> decompress(Bytes compressed, uint64_t max_bytes, const Reserve& reserve) {
  const unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return fail(ErrorCode::kCorrupt, "the profile's body is not a zstd frame with a content size");
  }
  if (size > max_bytes) {
    return fail(ErrorCode::kTooLarge, "the profile says it has {} bytes uncompressed; at most {} are read",
                size, max_bytes);
  }
  if (const Status reserved = reserve ? reserve(size) : Status(); !reserved) {
    return propagate(reserved);
  }
  std::string content(size, '\0');
  const size_t got = ZSTD_decompress(content.data(), content.size(), compressed.data(), compressed.size());
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) {
    return fail(ErrorCode::kExhausted, "no memory to decompress the profile");
  }
  if (ZSTD_isError(got) != 0 || got != content.size()) {
    return fail(ErrorCode::kCorrupt, "decompressing the profile: {}",
                ZSTD_isError(got) != 0 ? ZSTD_getErrorName(got) : "its content is shorter than declared");
  }
  return content;
}

// Nothing is allocated for what is over a bound, or refused. Whether the message has fields that are of a newer daemon.
Result<bool> check_message(Bytes message, const ProfileLimits& limits, const Reserve& reserve) {
  if (auto within_limits = check_field_limits(message, *RawProfile::descriptor(), kFieldLimits);
      !within_limits) {
    return propagate(within_limits);
  }
  const auto cost = parse_cost(message, *RawProfile::descriptor(), limits.max_parsed_bytes);
  if (!cost) {
    return with_field(propagate(cost, "the profile"), "body");
  }
  const uint64_t copied_bytes = cost->has_unknown_fields ? kCopies * message.size() : 0;
  const Status reserved = reserve ? reserve(cost->bytes + copied_bytes) : Status();
  return reserved ? Result<bool>(cost->has_unknown_fields) : propagate(reserved);
}

template <typename T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Status decode_into(RawProfile& profile, Bytes encoded, const ProfileLimits& limits, const Reserve& reserve) {
  const auto body = check_framing(encoded, limits);
  if (!body) {
    return propagate(body);
  }
  auto message = decompress(*body, std::min<uint64_t>(limits.max_decoded_bytes, INT32_MAX), reserve);
  if (!message) {
    return with_field(propagate(message), "body");
  }
  // Else Protobuf prints a line of its own about text that is not UTF-8.
  static const bool is_quiet = (google::protobuf::SetLogHandler(nullptr), true);
  static_cast<void>(is_quiet);
  const auto has_unknown_fields = check_message(as_bytes(*message), limits, reserve);
  if (!has_unknown_fields) {
    return propagate(has_unknown_fields);
  }
  if (*has_unknown_fields) {
    message = without_unknown_fields(as_bytes(*message), *RawProfile::descriptor());
    if (!message) {
      return with_field(propagate(message), "body");
    }
  }
  if (!profile.ParseFromString(*message)) {
    return with_field(fail(ErrorCode::kCorrupt, "the profile's message is malformed"), "body");
  }
  return validate(profile);
}

}  // namespace

Status check_version(uint32_t version, std::string_view what) {
  if (version >= kOldestFormatVersion && version <= kFormatVersion) {
    return {};
  }
  return with_field(fail(ErrorCode::kUnsupported, "{} has format version {}; this program reads {} to {}",
                         what, version, kOldestFormatVersion, kFormatVersion),
                    "format_version");
}

std::string encode(const RawProfile& profile) {
  const std::string message = profile.SerializeAsString();
  std::string body(ZSTD_compressBound(message.size()), '\0');
  body.resize(ZSTD_compress(body.data(), body.size(), message.data(), message.size(), kCompressionLevel));

  std::string encoded(kMagic);
  append(encoded, kFormatVersion);
  append(encoded, uint32_t{0});
  append(encoded, uint64_t{body.size()});
  append(encoded, checksum64(as_bytes(body)));
  return encoded + body;
}

bool looks_like_profile(Bytes bytes) {
  return as_text(bytes).starts_with(kMagic);
}

Result<Bytes> check_framing(Bytes encoded, const ProfileLimits& limits) {
  if (encoded.size() > limits.max_encoded_bytes) {
    return fail(ErrorCode::kTooLarge, "the profile has {} bytes; at most {} are read", encoded.size(),
                limits.max_encoded_bytes);
  }
  if (!looks_like_profile(encoded)) {
    return with_field(fail(ErrorCode::kCorrupt, "not a raw profile: it does not begin with {}", kMagic),
                      "magic");
  }
  ByteReader reader(encoded.subspan(kMagic.size()));
  const auto version = reader.read<uint32_t>();
  const auto reserved = reader.read<uint32_t>();
  const auto length = reader.read<uint64_t>();
  const auto checksum = reader.read<uint64_t>();
  if (!reader.ok()) {
    return with_field(
        fail(ErrorCode::kCorrupt, "the profile is truncated within its header ({} bytes)", encoded.size()),
        "header");
  }
  if (auto supported = check_version(version, "the profile"); !supported) {
    return propagate(supported);
  }
  if (reserved != 0) {
    return with_field(fail(ErrorCode::kCorrupt, "the profile's reserved header field is {}, not 0", reserved),
                      "reserved");
  }
  if (length != reader.remaining()) {
    return with_field(
        fail(ErrorCode::kCorrupt, "the profile is {}: its header says {} bytes, {} follow",
             length > reader.remaining() ? "truncated" : "longer than declared", length, reader.remaining()),
        "length");
  }
  const Bytes body = reader.bytes(length);
  if (checksum64(body) != checksum) {
    return with_field(fail(ErrorCode::kCorrupt, "the profile is damaged: its checksum does not match"),
                      "checksum");
  }
  return body;
}

Result<RawProfile> decode(Bytes encoded, const ProfileLimits& limits, const Reserve& reserve) {
  RawProfile profile;
  const Status decoded = decode_into(profile, encoded, limits, reserve);
  return decoded ? Result<RawProfile>(std::move(profile)) : propagate(decoded);
}

ProfileInArena::ProfileInArena() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = kFirstBlockBytes;
  options.max_block_size = kMaxBlockBytes;
  arena_ = std::make_unique<google::protobuf::Arena>(options);
  profile_ = google::protobuf::Arena::CreateMessage<RawProfile>(arena_.get());
}

Result<ProfileInArena> decode_in_arena(Bytes encoded, const ProfileLimits& limits, const Reserve& reserve) {
  ProfileInArena profile;
  const Status decoded = decode_into(profile.get(), encoded, limits, reserve);
  return decoded ? Result<ProfileInArena>(std::move(profile)) : propagate(decoded);
}

double scale_of(const Event& event) {
  if (event.hits() == 0) {
    return 0;
  }
  // Lost samples stand for the same as those that came; a clock's timer was due for idle time besides.
  const auto hits = static_cast<double>(event.hits());
  const double produced = hits + static_cast<double>(event.lost());
  const double due = std::max(produced, static_cast<double>(event.ticks_due()));
  double multiplexing = 1;
  if (event.time_running_ns() > 0) {
    multiplexing =
        static_cast<double>(event.time_enabled_ns()) / static_cast<double>(event.time_running_ns());
  }
  return event.counter_total() * multiplexing * (produced / due) / hits;
}

}  // namespace plimsoll::wire
