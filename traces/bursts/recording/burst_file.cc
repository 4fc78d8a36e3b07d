#include "traces/bursts/recording/burst_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace plimsoll::traces {
namespace {

constexpr std::string_view kMagic = "PLIMBRST";
constexpr size_t kHeaderBytes = 32;
constexpr uint32_t kVersionWithoutDraws = 1;
// Nor events of applications.
constexpr uint32_t kVersionWithoutSamples = 2;
constexpr int kCompressionLevel = 3;
constexpr uint64_t kMaxTextBytes = 4096;
constexpr uint64_t kMaxThreads = 4'000'000;
constexpr uint64_t kMaxBinaries = 1'000'000;
constexpr uint64_t kMaxFrames = 4'000'000;
constexpr uint64_t kMaxStackNodes = 16'000'000;
constexpr uint64_t kMinBinaryBytes = 2;
constexpr uint64_t kMinFrameBytes = 4;
constexpr uint64_t kMinStackNodeBytes = 2;
// A time plus an offset less a planned time does not overflow, nor a burst's length times kMaxThreads. 36 years of uptime, dates until 2116, and 36 minutes.
constexpr int64_t kMaxTimeNs = int64_t{1} << 60;
constexpr int64_t kMaxWallNs = int64_t{1} << 62;
constexpr int64_t kMinOffsetNs = -(int64_t{1} << 61);
constexpr int64_t kMaxBurstNs = int64_t{1} << 41;
constexpr int64_t kNsPerMillisecond = 1'000'000;
constexpr uint64_t kMaxBursts = 1'000'000;
constexpr uint64_t kMaxNotes = 1000;
// kind, CPU, time, thread, and the call or the other thread, a byte each.
constexpr uint64_t kMinEventBytes = 5;
constexpr uint64_t kMinThreadBytes = 3;
// Of version 1, whose bursts are smaller.
constexpr uint64_t kKindsWithoutDraws = 7;
constexpr uint64_t kKindsWithoutSamples = 11;
constexpr uint64_t kMinBurstBytes = 8 + kKindsWithoutDraws;
constexpr uint64_t kMinDetailBytes = 4;

class Writer {
 public:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }
  // Small where it is near 0, on either side.
  void signed_number(int64_t value) {
    number(static_cast<uint64_t>(value) << 1U ^ static_cast<uint64_t>(value >> 63U));
  }
  void text(std::string_view value) {
    const std::string_view kept = value.substr(0, kMaxTextBytes);
    number(kept.size());
    bytes_ += kept;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = bytes_.read<uint8_t>();
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    is_sound_ = false;
    return 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1U ^ (~(value & 1) + 1));
  }
  uint64_t number_up_to(uint64_t max) {
    const uint64_t value = number();
    is_sound_ = is_sound_ && value <= max;
    return is_sound_ ? value : 0;
  }
  // How many parts of `min_bytes` each follow: never more than fit into what is left.
  uint64_t count(uint64_t max, uint64_t min_bytes) {
    return number_up_to(std::min<uint64_t>(max, bytes_.remaining() / min_bytes));
  }
  std::string text() {
    const uint64_t size = number_up_to(kMaxTextBytes);
    return std::string(as_text(bytes_.bytes(size)));
  }
  bool ok() const { return is_sound_ && bytes_.ok(); }
  bool is_at_end() const { return bytes_.remaining() == 0; }

 private:
  ByteReader bytes_;
  bool is_sound_ = true;
};

bool is_time(int64_t time_ns) {
  return -kMaxTimeNs <= time_ns && time_ns <= kMaxTimeNs;
}

bool is_wall_ms(int64_t time_ms) {
  return 0 <= time_ms && time_ms <= kMaxWallNs / kNsPerMillisecond;
}

bool is_offset(int64_t offset_ns) {
  return kMinOffsetNs <= offset_ns && offset_ns <= kMaxWallNs;
}

// So that what reads recordings need not look out for overflow. Events are in order.
bool has_sound_times(const Burst& burst) {
  return is_wall_ms(burst.planned.begin_ms) && is_wall_ms(burst.planned.end_ms) && is_time(burst.on_ns) &&
         is_time(burst.off_ns) && burst.on_ns <= burst.off_ns && burst.off_ns - burst.on_ns <= kMaxBurstNs &&
         is_offset(burst.wall_offset_on_ns) && is_offset(burst.wall_offset_off_ns) &&
         (burst.events.empty() ||
          (is_time(burst.events.front().time_ns) && is_time(burst.events.back().time_ns)));
}

bool has_other(BurstEventKind kind) {
  return kind == BurstEventKind::kSwitch || kind == BurstEventKind::kWake ||
         kind == BurstEventKind::kNewThread;
}

bool has_second(BurstEventKind kind) {
  return kind == BurstEventKind::kMarkCall || kind == BurstEventKind::kDiskIssue ||
         kind == BurstEventKind::kDiskDone || is_of_application(kind);
}

// Columns one behind the other compress to half of what rows do.
void write_events(const std::vector<BurstEvent>& events, Writer& out) {
  out.number(events.size());
  for (const BurstEvent& event : events) {
    out.number(static_cast<uint64_t>(event.kind));
  }
  for (const BurstEvent& event : events) {
    out.number(event.cpu);
  }
  uint64_t before_ns = 0;
  for (const BurstEvent& event : events) {
    // Without a sign, as in read_events(): the difference of two times may be more than an int64_t holds.
    const auto time_ns = static_cast<uint64_t>(event.time_ns);
    out.signed_number(static_cast<int64_t>(time_ns - before_ns));
    before_ns = time_ns;
  }
  for (const BurstEvent& event : events) {
    out.number(event.thread);
  }
  for (const BurstEvent& event : events) {
    out.number(has_other(event.kind) ? event.other : event.first);
  }
  for (const BurstEvent& event : events) {
    if (has_other(event.kind)) {
      out.number(event.first);
    } else if (has_second(event.kind)) {
      out.number(event.second);
    }
  }
}

// What the events of a recording may refer to.
struct EventBounds {
  size_t threads = 0;
  uint64_t kinds = 0;
  uint64_t last_stack = 0;
};

std::vector<BurstEvent> read_events(uint64_t max_events, const EventBounds& bounds, Reader& in) {
  std::vector<BurstEvent> events(in.count(max_events, kMinEventBytes));
  for (BurstEvent& event : events) {
    event.kind = static_cast<BurstEventKind>(in.number_up_to(bounds.kinds - 1));
  }
  for (BurstEvent& event : events) {
    event.cpu = static_cast<uint16_t>(in.number_up_to(UINT16_MAX));
  }
  uint64_t before_ns = 0;
  for (BurstEvent& event : events) {
    // Without a sign, so that damage cannot overflow.
    before_ns += static_cast<uint64_t>(in.signed_number());
    event.time_ns = static_cast<int64_t>(before_ns);
  }
  const uint64_t last_thread = bounds.threads == 0 ? 0 : bounds.threads - 1;
  for (BurstEvent& event : events) {
    event.thread = static_cast<uint32_t>(in.number_up_to(last_thread));
  }
  for (BurstEvent& event : events) {
    if (has_other(event.kind)) {
      event.other = static_cast<uint32_t>(in.number_up_to(last_thread));
    } else {
      event.first = in.number_up_to(event.kind == BurstEventKind::kSample ? bounds.last_stack : UINT64_MAX);
    }
  }
  for (BurstEvent& event : events) {
    if (has_other(event.kind)) {
      event.first = in.number();
    } else if (has_second(event.kind)) {
      event.second = in.number();
    }
  }
  return events;
}

void write_burst(const Burst& burst, Writer& out) {
  for (const int64_t value : {burst.planned.begin_ms, burst.planned.end_ms, burst.on_ns, burst.off_ns,
                              burst.wall_offset_on_ns, burst.wall_offset_off_ns}) {
    out.signed_number(value);
  }
  for (const uint64_t lost : burst.lost) {
    out.number(lost);
  }
  out.number(burst.unread_bytes);
  write_events(burst.events, out);
}

Burst read_burst(uint64_t max_events, const EventBounds& bounds, Reader& in) {
  Burst burst;
  for (int64_t* value : {&burst.planned.begin_ms, &burst.planned.end_ms, &burst.on_ns, &burst.off_ns,
                         &burst.wall_offset_on_ns, &burst.wall_offset_off_ns}) {
    *value = in.signed_number();
  }
  for (uint64_t kind = 0; kind < bounds.kinds; ++kind) {
    burst.lost[kind] = in.number();
  }
  burst.unread_bytes = in.number();
  burst.events = read_events(max_events, bounds, in);
  return burst;
}

void write_stacks(const BurstStacks& stacks, Writer& out) {
  out.number(stacks.binaries.size());
  for (const BurstBinary& binary : stacks.binaries) {
    out.text(binary.path);
    out.text(binary.build_id);
  }
  out.number(stacks.frames.size());
  for (const BurstFrame& frame : stacks.frames) {
    out.number(static_cast<uint64_t>(frame.kind));
    out.number(frame.binary);
    out.number(frame.address);
    out.text(frame.function);
  }
  out.number(stacks.nodes.size());
  for (const BurstStackNode& node : stacks.nodes) {
    out.number(node.frame);
    out.number(node.caller);
  }
}

// Takes what it needs of the memory that is left.
BurstStacks read_stacks(uint64_t& bytes_left, bool& is_too_deep, Reader& in) {
  const auto count = [&](uint64_t max, uint64_t min_bytes, size_t size) {
    const uint64_t counted = in.count(std::min<uint64_t>(max, bytes_left / size), min_bytes);
    bytes_left -= counted * size;
    return counted;
  };
  BurstStacks stacks;
  stacks.binaries.resize(count(kMaxBinaries, kMinBinaryBytes, sizeof(BurstBinary)));
  for (BurstBinary& binary : stacks.binaries) {
    binary.path = in.text();
    binary.build_id = in.text();
  }
  stacks.frames.resize(count(kMaxFrames, kMinFrameBytes, sizeof(BurstFrame)));
  const uint64_t last_binary = stacks.binaries.empty() ? 0 : stacks.binaries.size() - 1;
  for (BurstFrame& frame : stacks.frames) {
    frame.kind = static_cast<BurstAddressKind>(in.number_up_to(kBurstAddressKinds - 1));
    frame.binary = static_cast<uint32_t>(in.number_up_to(last_binary));
    frame.address = in.number();
    frame.function = in.text();
  }
  stacks.nodes.resize(count(kMaxStackNodes, kMinStackNodeBytes, sizeof(BurstStackNode)));
  const uint64_t last_frame = stacks.frames.empty() ? 0 : stacks.frames.size() - 1;
  std::vector<uint16_t> depths{0};
  depths.reserve(stacks.nodes.size() + 1);
  for (BurstStackNode& node : stacks.nodes) {
    node.frame = static_cast<uint32_t>(in.number_up_to(last_frame));
    node.caller = static_cast<uint32_t>(in.number_up_to(depths.size() - 1));
    if (depths[node.caller] >= kMaxBurstStackDepth) {
      is_too_deep = true;
      break;
    }
    depths.push_back(static_cast<uint16_t>(depths[node.caller] + 1));
  }
  return stacks;
}

// That no index leads to a table that is empty.
bool has_whole_stacks(const BurstStacks& stacks) {
  return (stacks.frames.empty() || !stacks.binaries.empty()) &&
         (stacks.nodes.empty() || !stacks.frames.empty());
}

// What applications told: after the bursts, whose events have indexes of it.
void write_told(const BurstRecording& recording, Writer& out) {
  out.number(recording.lost_application_events);
  out.number(recording.texts.size());
  for (const std::string& text : recording.texts) {
    out.text(text);
  }
  out.number(recording.details.size());
  for (const ApplicationDetail& detail : recording.details) {
    out.number(detail.request);
    out.number(detail.call);
    out.number(detail.text);
    out.number(detail.peer);
  }
}

// Texts and details take at most so many bytes of memory, besides the bytes of the texts, which the content has too.
void read_told(uint64_t max_bytes, BurstRecording& recording, Reader& in) {
  recording.lost_application_events = in.number();
  recording.texts.resize(in.count(max_bytes / sizeof(std::string), 1));
  for (std::string& text : recording.texts) {
    text = in.text();
  }
  const uint64_t bytes_left = max_bytes - recording.texts.size() * sizeof(std::string);
  recording.details.resize(in.count(bytes_left / sizeof(ApplicationDetail), kMinDetailBytes));
  const uint64_t last_text = recording.texts.empty() ? 0 : recording.texts.size() - 1;
  for (ApplicationDetail& detail : recording.details) {
    detail.request = in.number();
    detail.call = in.number();
    detail.text = static_cast<uint32_t>(in.number_up_to(std::min<uint64_t>(last_text, UINT32_MAX)));
    detail.peer = static_cast<uint32_t>(in.number_up_to(std::min<uint64_t>(last_text, UINT32_MAX)));
  }
}

bool has_sound_details(const BurstRecording& recording) {
  return (recording.details.empty() || !recording.texts.empty()) &&
         std::ranges::all_of(recording.bursts, [&](const Burst& burst) {
           return std::ranges::all_of(burst.events, [&](const BurstEvent& event) {
             return !is_of_application(event.kind) || event.second < recording.details.size();
           });
         });
}

Result<BurstRecording> read_content(Bytes content, uint32_t version, const BurstFileLimits& limits) {
  Reader in(content);
  BurstRecording recording;
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
  // Threads and bursts take many times the bytes that they have in the content: together no more than all of it may.
  const uint64_t max_threads =
      std::min<uint64_t>(kMaxThreads, limits.max_decoded_bytes / sizeof(BurstThread));
  recording.threads.resize(in.count(max_threads, kMinThreadBytes));
  for (BurstThread& thread : recording.threads) {
    thread.tid = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
    thread.pid = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
    thread.name = in.text();
  }
  uint64_t events_left = limits.max_events;
  uint64_t bytes_left = limits.max_decoded_bytes - recording.threads.size() * sizeof(BurstThread);
  if (version > kVersionWithoutSamples) {
    bool is_too_deep = false;
    recording.stacks = read_stacks(bytes_left, is_too_deep, in);
    if (is_too_deep) {
      return fail(ErrorCode::kCorrupt, "a stack of samples has over {} frames", kMaxBurstStackDepth);
    }
    if (!has_whole_stacks(recording.stacks)) {
      return fail(ErrorCode::kCorrupt, "stacks of samples are of no frame, or frames of no binary");
    }
  }
  const EventBounds bounds{.threads = recording.threads.size(),
                           .kinds = version > kVersionWithoutSamples ? uint64_t{kBurstEventKinds}
                                    : version > kVersionWithoutDraws ? kKindsWithoutSamples
                                                                     : kKindsWithoutDraws,
                           .last_stack = recording.stacks.nodes.size()};
  const uint64_t max_bursts = std::min<uint64_t>(kMaxBursts, bytes_left / sizeof(Burst));
  const uint64_t bursts = in.count(max_bursts, kMinBurstBytes);
  recording.bursts.reserve(bursts);
  for (uint64_t i = 0; i < bursts && in.ok(); ++i) {
    Burst burst = read_burst(events_left, bounds, in);
    const bool is_ordered = std::ranges::is_sorted(burst.events, {}, &BurstEvent::time_ns);
    if (!is_ordered || (recording.threads.empty() && !burst.events.empty())) {
      return fail(ErrorCode::kCorrupt, "events of burst {} are out of order, or of no thread", i);
    }
    if (!has_sound_times(burst)) {
      return fail(ErrorCode::kCorrupt, "burst {} has impossible times", i);
    }
    events_left -= burst.events.size();
    recording.bursts.push_back(std::move(burst));
  }
  if (version > kVersionWithoutSamples && in.ok()) {
    read_told(bytes_left - recording.bursts.size() * sizeof(Burst), recording, in);
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

std::string_view name_of(BurstEventKind kind) {
  constexpr std::array<std::string_view, kBurstEventKinds> kNames{
      "switch",     "wake",       "new-thread", "mark-call",   "syscall-enter",   "syscall-exit",
      "page-fault", "disk-issue", "disk-done",  "packet-sent", "packet-received", "sample",
      "rpc-in",     "rpc-out",    "rpc-end",    "annotation",  "named-phase"};
  return kNames[static_cast<size_t>(kind)];
}

std::string name_of_frame(const BurstStacks& stacks, uint32_t frame) {
  const BurstFrame& named = stacks.frames[frame];
  const std::string& path = stacks.binaries[named.binary].path;
  return named.function.empty() ? fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), named.address)
                                : named.function;
}

uint64_t Burst::all_lost() const {
  uint64_t sum = 0;
  for (const uint64_t one : lost) {
    sum += one;
  }
  return sum;
}

bool is_clock_off(const ClockState& clock, const BurstConfig& config) {
  constexpr int64_t kErrorsPerBurst = 20;  // of two machines in opposite directions: a tenth together
  return !clock.is_synchronized ||
         clock.max_error_ns > config.length_ms() * kNsPerMillisecond / kErrorsPerBurst;
}

std::string encode_bursts(const BurstRecording& recording) {
  Writer out;
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
  out.number(recording.threads.size());
  for (const BurstThread& thread : recording.threads) {
    out.number(thread.tid);
    out.number(thread.pid);
    out.text(thread.name);
  }
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
