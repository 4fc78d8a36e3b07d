#include "traces/bursts/recording/burst_file.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "base/checksum.h"

namespace plimsoll::traces {
namespace {

BurstRecording recording_of(size_t events) {
  BurstRecording recording;
  recording.machine = "m1";
  recording.draw = "2026-11-28T15:00:00Z";
  recording.config_bits = 0x7F00;
  recording.cpus = 2;
  recording.clock = {.is_synchronized = true, .max_error_ns = 1'000'000, .estimated_error_ns = 2000};
  recording.notes = {"not recorded: page-fault: there is none"};
  recording.threads = {{0, 0, "idle"}, {71, 70, "worker"}, {UINT32_MAX, 0, std::string("\xff\0x", 3)}};
  recording.stacks = {.binaries = {{"/usr/bin/worker", std::string("\x12\0\xff", 3)}, {"[kernel]", ""}},
                      .frames = {{0x1136, 0, BurstAddressKind::kElf, ""},
                                 {UINT64_MAX, 0, BurstAddressKind::kFileOffset, ""},
                                 {0x40, 1, BurstAddressKind::kKernel, "schedule"}},
                      .nodes = {{0, 0}, {1, 1}, {2, 1}}};
  recording.texts = {"", "Store.Read", std::string("\xff\0x", 3)};
  recording.details = {{.request = 7, .call = 1, .text = 1, .peer = 2},
                       {.request = UINT64_MAX, .call = UINT64_MAX, .text = 0, .peer = 0}};
  recording.lost_application_events = 300;
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < 2; ++i) {
    Burst burst;
    burst.planned = {32'512 + i * 32'768, 32'768 + i * 32'768};
    burst.on_ns = 5'000'000'000 + i * 32'768'000'000;
    burst.off_ns = burst.on_ns + 256'000'000;
    burst.wall_offset_on_ns = -77;
    burst.wall_offset_off_ns = 1'795'600'800'000'000'000;
    burst.lost = {1, 0, 3, 0, 0, 0, UINT64_MAX - 10};
    int64_t now_ns = burst.on_ns;
    for (size_t event = 0; event < events; ++event) {
      now_ns += static_cast<int64_t>(random() % 20'000);
      BurstEvent made{.time_ns = now_ns,
                      .first = 0,
                      .second = 0,
                      .thread = static_cast<uint32_t>(random() % 3),
                      .other = 0,
                      .cpu = static_cast<uint16_t>(random() % 2),
                      .kind = static_cast<BurstEventKind>(random() % kBurstEventKinds)};
      const bool has_other = made.kind <= BurstEventKind::kNewThread;
      made.other = has_other ? static_cast<uint32_t>(random() % 3) : 0;
      made.first = random() % (made.kind == BurstEventKind::kSample ? 4U : 400U);
      const bool has_second = made.kind == BurstEventKind::kMarkCall ||
                              made.kind == BurstEventKind::kDiskIssue ||
                              made.kind == BurstEventKind::kDiskDone;
      made.second = has_second ? random() : is_of_application(made.kind) ? random() % 2 : 0;
      burst.events.push_back(made);
    }
    recording.bursts.push_back(std::move(burst));
  }
  return recording;
}

// What reads a recording adds and subtracts them.
TEST(BurstFile, RefusesImpossibleTimes) {
  const BurstRecording sound = recording_of(3);
  ASSERT_TRUE(decode_bursts(as_bytes(encode_bursts(sound))));
  const auto is_refused = [&](auto&& change) {
    BurstRecording changed = sound;
    change(changed.bursts[1]);
    return !decode_bursts(as_bytes(encode_bursts(changed))).has_value();
  };
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.on_ns = INT64_MIN; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.off_ns = INT64_MAX; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.off_ns = burst.on_ns - 1; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.off_ns = burst.on_ns + (int64_t{1} << 42); }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.events.front().time_ns = INT64_MIN; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.events.back().time_ns = INT64_MAX; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.planned.begin_ms = INT64_MAX / 1'000'000; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.planned.end_ms = -1; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.wall_offset_on_ns = INT64_MAX; }));
  EXPECT_TRUE(is_refused([](Burst& burst) { burst.wall_offset_off_ns = INT64_MIN; }));
}

TEST(BurstFile, ComesBackAsItWas) {
  for (const size_t events : {size_t{0}, size_t{1}, size_t{5000}}) {
    const BurstRecording recording = recording_of(events);
    const auto decoded = decode_bursts(as_bytes(encode_bursts(recording)));
    ASSERT_TRUE(decoded) << decoded.error().text();
    EXPECT_TRUE(*decoded == recording);
  }
}

TEST(BurstFile, NoticesDamage) {
  const std::string sound = encode_bursts(recording_of(50));
  for (size_t size = 0; size < sound.size(); ++size) {
    ASSERT_FALSE(decode_bursts(as_bytes(sound).subspan(0, size))) << size;
  }
  for (size_t at = 0; at < sound.size(); ++at) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const bool is_reserved = at >= 12 && at < 16;
    ASSERT_EQ(decode_bursts(as_bytes(damaged)).has_value(), is_reserved) << at;
  }
  std::string newer = sound;
  newer[8] = kBurstFileVersion + 1;
  EXPECT_EQ(decode_bursts(as_bytes(newer)).error().code, ErrorCode::kUnsupported);
}

std::string file_of(uint32_t version, const std::string& content) {
  // A frame of one raw block (RFC 8878): magic, content size in a byte, block of so many bytes, the last one.
  std::string frame("\x28\xb5\x2f\xfd\x20", 5);
  frame += static_cast<char>(content.size());
  frame += static_cast<char>(content.size() << 3U | 1U);
  frame += std::string(2, '\0') + content;
  std::string encoded = "PLIMBRST";
  const auto append = [&](auto value) {
    encoded.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(version);
  append(uint32_t{0});
  append(uint64_t{frame.size()});
  append(checksum64(as_bytes(frame)));
  return encoded + frame;
}

// Machine "old", config 7,8, nothing else: version 1 has no draw, version 2 no stacks and nothing of applications.
TEST(BurstFile, ReadsOlderVersions) {
  BurstRecording recording;
  recording.machine = "old";
  recording.config_bits = 0x7F00;
  const std::string machine = "\3old";
  const std::string draw(1, '\0');
  const std::string rest = "\x80\xfe\x01" + std::string(7, '\0');
  const std::string stacks(3, '\0');
  const std::string told(3, '\0');
  for (const std::string& encoded : {file_of(1, machine + rest), file_of(2, machine + draw + rest),
                                     file_of(3, machine + draw + rest + stacks + told)}) {
    ASSERT_TRUE(check_burst_framing(as_bytes(encoded)));
    const auto decoded = decode_bursts(as_bytes(encoded));
    ASSERT_TRUE(decoded) << decoded.error().text();
    EXPECT_TRUE(*decoded == recording);
  }
  EXPECT_FALSE(decode_bursts(as_bytes(file_of(3, machine + draw + rest))));
}

TEST(BurstFile, ChecksIndexesOfStacks) {
  const BurstRecording sound = recording_of(200);
  const auto is_refused = [&](auto&& change) {
    BurstRecording changed = sound;
    change(changed);
    return !decode_bursts(as_bytes(encode_bursts(changed))).has_value();
  };
  EXPECT_FALSE(is_refused([](BurstRecording&) {}));
  EXPECT_TRUE(is_refused([](BurstRecording& recording) { recording.stacks.frames[0].binary = 2; }));
  EXPECT_TRUE(is_refused([](BurstRecording& recording) { recording.stacks.nodes[2].frame = 3; }));
  EXPECT_TRUE(is_refused([](BurstRecording& recording) { recording.stacks.nodes[1].caller = 2; }))
      << "its own caller";
  EXPECT_TRUE(is_refused([](BurstRecording& recording) { recording.stacks.nodes.pop_back(); }))
      << "a sample has that stack";
  EXPECT_TRUE(is_refused([](BurstRecording& recording) { recording.stacks.frames.clear(); }));
  const auto deepen = [](BurstRecording& recording, uint32_t depth) {
    recording.stacks.nodes.clear();
    for (uint32_t caller = 0; caller < depth; ++caller) {
      recording.stacks.nodes.push_back({.frame = 0, .caller = caller});
    }
  };
  EXPECT_FALSE(is_refused([&](BurstRecording& recording) { deepen(recording, kMaxBurstStackDepth); }));
  EXPECT_TRUE(is_refused([&](BurstRecording& recording) { deepen(recording, kMaxBurstStackDepth + 1); }));
  EXPECT_TRUE(is_refused([](BurstRecording& recording) {
    recording.stacks.frames.resize(1);
    recording.stacks.binaries.clear();
    recording.stacks.nodes.clear();
    for (Burst& burst : recording.bursts) {
      burst.events.clear();
    }
  }));
}

TEST(BurstFile, NamesFramesByFunctionOrPlace) {
  const BurstStacks stacks = recording_of(0).stacks;
  EXPECT_EQ(name_of_frame(stacks, 0), "worker+0x1136");
  EXPECT_EQ(name_of_frame(stacks, 2), "schedule");
  std::vector<uint32_t> frames;
  stacks.for_each_frame(3, [&](uint32_t frame) { frames.push_back(frame); });
  EXPECT_EQ(frames, (std::vector<uint32_t>{2, 0}));
}

TEST(BurstFile, ChecksFramingWithoutDecoding) {
  const std::string sound = encode_bursts(recording_of(50));
  EXPECT_TRUE(check_burst_framing(as_bytes(sound)));
  EXPECT_FALSE(check_burst_framing(as_bytes(sound).subspan(0, sound.size() - 1)));
  std::string damaged = sound;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_FALSE(check_burst_framing(as_bytes(damaged)));
}

TEST(BurstFile, RefusesWhatIsNoSoundRecording) {
  BurstRecording other_config = recording_of(5);
  other_config.config_bits = 5;
  EXPECT_FALSE(decode_bursts(as_bytes(encode_bursts(other_config))));
  BurstRecording no_threads = recording_of(5);
  no_threads.threads.clear();
  EXPECT_FALSE(decode_bursts(as_bytes(encode_bursts(no_threads))));
  BurstRecording no_details = recording_of(50);
  no_details.details.resize(1);
  EXPECT_FALSE(decode_bursts(as_bytes(encode_bursts(no_details))));
  BurstRecording no_texts = recording_of(5);
  no_texts.texts.resize(2);
  EXPECT_FALSE(decode_bursts(as_bytes(encode_bursts(no_texts))));
  BurstRecording disordered = recording_of(5);
  disordered.bursts[0].events[0].time_ns = INT64_MAX;
  EXPECT_FALSE(decode_bursts(as_bytes(encode_bursts(disordered))));
  EXPECT_FALSE(decode_bursts(as_bytes(encode_bursts(recording_of(50))), {.max_events = 99}));
  EXPECT_TRUE(decode_bursts(as_bytes(encode_bursts(recording_of(50))), {.max_events = 100}));
  EXPECT_EQ(decode_bursts(as_bytes(encode_bursts(recording_of(50))), {.max_decoded_bytes = 100}).error().code,
            ErrorCode::kTooLarge);
}

// Zeros compress to nothing, and become threads and bursts of many times their size: these count against what may be decoded.
TEST(BurstFile, BoundsThreadsAndBurstsByTheBytesThatMayBeDecoded) {
  constexpr size_t kCount = 100;
  BurstRecording only_threads;
  only_threads.config_bits = 0x7F00;
  only_threads.threads.resize(kCount);
  BurstRecording only_bursts;
  only_bursts.config_bits = 0x7F00;
  only_bursts.bursts.resize(kCount);
  BurstRecording both = only_bursts;
  both.threads.resize(kCount);
  const auto code_of = [](const BurstRecording& recording, uint64_t max_decoded_bytes) {
    const auto decoded =
        decode_bursts(as_bytes(encode_bursts(recording)), {.max_decoded_bytes = max_decoded_bytes});
    return decoded ? std::optional<ErrorCode>() : std::optional(decoded.error().code);
  };
  // The content itself takes less, and is not what is refused: that would be kTooLarge.
  const uint64_t of_threads = kCount * sizeof(BurstThread);
  EXPECT_EQ(code_of(only_threads, of_threads), std::nullopt);
  EXPECT_EQ(code_of(only_threads, of_threads - 1), ErrorCode::kCorrupt);
  const uint64_t of_bursts = kCount * sizeof(Burst);
  EXPECT_EQ(code_of(only_bursts, of_bursts), std::nullopt);
  EXPECT_EQ(code_of(only_bursts, of_bursts - 1), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(both, of_threads + of_bursts), std::nullopt);
  EXPECT_EQ(code_of(both, of_threads + of_bursts - 1), ErrorCode::kCorrupt) << "together, not each";
}

TEST(BurstFile, KnowsClocksThatAreOff) {
  const BurstConfig config = *BurstConfig::of_bits(0x7F00);  // 256 ms: a tenth of it between two machines
  EXPECT_FALSE(is_clock_off({.is_synchronized = true, .max_error_ns = 12'800'000}, config));
  EXPECT_TRUE(is_clock_off({.is_synchronized = true, .max_error_ns = 12'800'001}, config));
  EXPECT_TRUE(is_clock_off({.is_synchronized = false, .max_error_ns = 1}, config));
}

}  // namespace
}  // namespace plimsoll::traces
