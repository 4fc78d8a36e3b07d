#include "traces/bursts/recording/burst_file.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "traces/bursts/recording/burst_codec.h"
#include "traces/bursts/recording/stacks_codec.h"
#include "traces/bursts/recording/told_codec.h"
#include "traces/bursts/recording/varints.h"

namespace plimsoll::traces {
namespace {

constexpr std::string_view kMagic = "PLIMBRST";
constexpr size_t kHeaderBytes = 32;
constexpr uint32_t kVersionWithoutDraws = 1;
// Nor events of applications.
constexpr uint32_t kVersionWithoutSamples = 2;
constexpr int kCompressionLevel = 3;
constexpr uint64_t kMaxThreads = 4'000'000;
constexpr uint64_t kMaxBursts = 1'000'000;
constexpr uint64_t kMaxNotes = 1000;
constexpr uint64_t kMinThreadBytes = 3;
constexpr uint64_t kKindsWithoutSamples = 11;

uint64_t kinds_of_version(uint32_t version) {
  return version > kVersionWithoutSamples ? uint64_t{kBurstEventKinds}
         : version > kVersionWithoutDraws ? kKindsWithoutSamples
                                          : kKindsWithoutDraws;
}

void write_head(const BurstRecording& recording, VarintWriter& out) {
  out.text(recording.machine);
  out.text(recording.draw);
  out.number(recording.config_bits);
  out.number(recording.cpus);
  out.number(recording.clock.is_synchronized ? 1 : 0);
  out.signed_number(recording.clock.max_error_ns);
  out.signed_number(recording.clock.estimated_error_ns);
  out.number(recording.notes.size());
  for (const std::string& note : recording.notes) {
    out.text(note);
  }
}

void read_head(uint32_t version, BurstRecording& recording, VarintReader& in) {
  recording.machine = in.text();
  recording.draw = version > kVersionWithoutDraws ? in.text() : std::string();
  recording.config_bits = in.number();
  recording.cpus = static_cast<uint32_t>(in.number_up_to(UINT16_MAX));
  recording.clock.is_synchronized = in.number_up_to(1) != 0;
  recording.clock.max_error_ns = in.signed_number();
  recording.clock.estimated_error_ns = in.signed_number();
  recording.notes.resize(in.count(kMaxNotes, 1));
  for (std::string& note : recording.notes) {
    note = in.text();
  }
}

void write_threads(const std::vector<BurstThread>& threads, VarintWriter& out) {
  out.number(threads.size());
  for (const BurstThread& thread : threads) {
    out.number(thread.tid);
    out.number(thread.pid);
    out.text(thread.name);
  }
}

// Takes what it needs of the memory that is left.
std::vector<BurstThread> read_threads(uint64_t& bytes_left, VarintReader& in) {
  const uint64_t max_threads = std::min<uint64_t>(kMaxThreads, bytes_left / sizeof(BurstThread));
  std::vector<BurstThread> threads(in.count(max_threads, kMinThreadBytes));
  bytes_left -= threads.size() * sizeof(BurstThread);
  for (BurstThread& thread : threads) {
    thread.tid = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
    thread.pid = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
    thread.name = in.text();
  }
  return threads;
}

// Takes what it needs of the memory that is left.
Result<std::vector<Burst>> read_bursts(uint64_t& bytes_left, uint64_t events_left, const BurstBounds& bounds,
                                       VarintReader& in) {
  const uint64_t max_bursts = std::min<uint64_t>(kMaxBursts, bytes_left / sizeof(Burst));
  const uint64_t count = in.count(max_bursts, kMinBurstBytes);
  std::vector<Burst> bursts;
  bursts.reserve(count);
  bytes_left -= count * sizeof(Burst);
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    Burst burst = read_burst(events_left, bounds, in);
    const bool is_ordered = std::ranges::is_sorted(burst.events, {}, &BurstEvent::time_ns);
    if (!is_ordered || (bounds.threads == 0 && !burst.events.empty())) {
      return fail(ErrorCode::kCorrupt, "events of burst {} are out of order, or of no thread", i);
    }
    if (!has_sound_times(burst)) {
      return fail(ErrorCode::kCorrupt, "burst {} has impossible times", i);
    }
    events_left -= burst.events.size();
    bursts.push_back(std::move(burst));
  }
  return bursts;
}

// Threads, stacks, bursts and what applications told take many times the bytes that they have in the content: together no more than all of
// it may.
Result<BurstRecording> read_content(Bytes content, uint32_t version, const BurstFileLimits& limits) {
  VarintReader in(content);
  BurstRecording recording;
  uint64_t bytes_left = limits.max_decoded_bytes;
  read_head(version, recording, in);
  recording.threads = read_threads(bytes_left, in);
  const bool has_samples = version > kVersionWithoutSamples;
  auto stacks = has_samples ? read_stacks(bytes_left, in) : Result<BurstStacks>(BurstStacks());
  if (!stacks) {
    return propagate(stacks);
  }
  recording.stacks = *std::move(stacks);
  auto bursts = read_bursts(bytes_left, limits.max_events,
                            {.threads = recording.threads.size(),
                             .kinds = kinds_of_version(version),
                             .last_stack = recording.stacks.nodes.size()},
                            in);
  if (!bursts) {
    return propagate(bursts);
  }
  recording.bursts = *std::move(bursts);
  if (has_samples && in.ok()) {
    read_told(bytes_left, recording, in);
  }
  if (in.ok() && !has_sound_details(recording)) {
    return fail(ErrorCode::kCorrupt, "the recording's events of applications lack their details");
  }
  if (!in.ok() || !in.is_at_end()) {
    return fail(ErrorCode::kCorrupt,
                "the recording's content is malformed, or has over {} events, or too many threads or bursts",
                limits.max_events);
  }
  if (const auto config = BurstConfig::of_bits(recording.config_bits); !config) {
    return propagate(config, "reading a recording of bursts");
  }
  return recording;
}

struct Framed {
  uint32_t version = 0;
  Bytes compressed;
};

// With the framing checked.
Result<Framed> content_of(Bytes encoded) {
  ByteReader header(encoded.subspan(0, std::min(encoded.size(), kHeaderBytes)));
  const Bytes magic = header.bytes(kMagic.size());
  const auto version = header.read<uint32_t>();
  (void)header.read<uint32_t>();
  const auto length = header.read<uint64_t>();
  const auto checksum = header.read<uint64_t>();
  if (!header.ok() || as_text(magic) != kMagic) {
    return with_hint(fail(ErrorCode::kCorrupt, "this is no recording of bursts"),
                     "\"plimsolld bursts record\" makes them");
  }
  if (version < kVersionWithoutDraws || version > kBurstFileVersion) {
    return fail(ErrorCode::kUnsupported,
                "version {} of recordings of bursts is unknown; this program reads {} to {}", version,
                kVersionWithoutDraws, kBurstFileVersion);
  }
  const Bytes compressed = encoded.subspan(kHeaderBytes);
  if (compressed.size() != length || checksum64(compressed) != checksum) {
    return fail(ErrorCode::kCorrupt, "the recording is cut or damaged: its checksum is wrong");
  }
  return Framed{version, compressed};
}

}  // namespace

std::string encode_bursts(const BurstRecording& recording) {
  VarintWriter out;
  write_head(recording, out);
  write_threads(recording.threads, out);
  write_stacks(recording.stacks, out);
  out.number(recording.bursts.size());
  for (const Burst& burst : recording.bursts) {
    write_burst(burst, out);
  }
  write_told(recording, out);
  const std::string& content = out.bytes();
  std::string compressed(ZSTD_compressBound(content.size()), '\0');
  // Fails for want of room or memory only, and there is room.
  const size_t size =
      ZSTD_compress(compressed.data(), compressed.size(), content.data(), content.size(), kCompressionLevel);
  compressed.resize(ZSTD_isError(size) != 0 ? 0 : size);
  std::string encoded(kMagic);
  const auto append = [&](auto value) {
    encoded.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(kBurstFileVersion);
  append(uint32_t{0});
  append(uint64_t{compressed.size()});
  append(checksum64(as_bytes(compressed)));
  return encoded + compressed;
}

Status check_burst_framing(Bytes encoded) {
  const auto framed = content_of(encoded);
  return framed ? Status() : propagate(framed);
}

Result<BurstRecording> decode_bursts(Bytes encoded, const BurstFileLimits& limits) {
  if (encoded.size() > limits.max_encoded_bytes) {
    return fail(ErrorCode::kTooLarge, "a recording of bursts has at most {} bytes", limits.max_encoded_bytes);
  }
  const auto framed = content_of(encoded);
  if (!framed) {
    return propagate(framed);
  }
  const Bytes compressed = framed->compressed;
  const uint64_t size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return fail(ErrorCode::kCorrupt, "the recording's content is not compressed by zstd");
  }
  if (size > limits.max_decoded_bytes) {
    return fail(ErrorCode::kTooLarge, "a recording of bursts has at most {} bytes", limits.max_decoded_bytes);
  }
  std::string content(size, '\0');
  if (ZSTD_decompress(content.data(), content.size(), compressed.data(), compressed.size()) != size) {
    return fail(ErrorCode::kCorrupt, "the recording's content cannot be decompressed");
  }
  return read_content(as_bytes(content), framed->version, limits);
}

}  // namespace plimsoll::traces
