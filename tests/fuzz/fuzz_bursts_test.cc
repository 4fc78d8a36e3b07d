#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "formats/perfetto/perfetto_trace.h"
#include "store/door/bursts.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "traces/bursts/clocks/clock_repair.h"
#include "traces/bursts/joined/chrome_json.h"
#include "traces/bursts/joined/request_layers.h"
#include "traces/bursts/recording/burst_file.h"
#include "traces/bursts/search/search.h"

namespace plimsoll::traces {
namespace {

constexpr int kMutations = 10'000;
constexpr size_t kHeaderBytes = 32;

// Damage to the content, below a sound header, checksum and compression.
std::string reframed(const std::string& sound, std::mt19937_64& random) {
  const std::string_view compressed = std::string_view(sound).substr(kHeaderBytes);
  std::string content(ZSTD_getFrameContentSize(compressed.data(), compressed.size()), '\0');
  ZSTD_decompress(content.data(), content.size(), compressed.data(), compressed.size());
  content = fuzz::mutated(content, random);
  std::string again(ZSTD_compressBound(content.size()), '\0');
  again.resize(ZSTD_compress(again.data(), again.size(), content.data(), content.size(), 1));
  std::string framed = sound.substr(0, kHeaderBytes);
  const uint64_t size = again.size();
  const uint64_t checksum = checksum64(as_bytes(again));
  std::memcpy(framed.data() + 16, &size, sizeof size);
  std::memcpy(framed.data() + 24, &checksum, sizeof checksum);
  return framed + again;
}

// Beside a sound recording: what is read of both is as any other.
void search_and_repair(const BurstRecording& sound, const BurstRecording& decoded) {
  const auto query = parse_search(
      "request not with annotation{text ~ row, number > 1} not with rpc{method ~ Read, peer = store, bytes > "
      "1} with own running overlapping lock_hold not with wake not with (phase during lock_wait) "
      "not with syscall not with sample{stack ~ schedule} then fault");
  ASSERT_TRUE(query);
  std::vector<std::vector<SceneMachine>> bursts;
  for (const Burst& burst : decoded.bursts) {
    std::vector<SceneMachine> machines{{.recording = &sound, .burst = &sound.bursts.front(), .shift_ns = 0},
                                       {.recording = &decoded, .burst = &burst, .shift_ns = 0}};
    const RepairedClocks clocks =
        repair_clocks(machines, pairs_of_marks(machines), *BurstConfig::of_bits(sound.config_bits));
    machines[1].shift_ns = clocks.machines[1].shift_ns;
    RequestLayering layering;
    for (const SceneMachine& machine : machines) {
      layering.add(*machine.recording, *machine.burst, join_burst(*machine.burst),
                   recorded_kinds(*machine.recording), machine.offset_ns());
    }
    for (const LayeredRequest& request : layering.finish()) {
      ASSERT_LE(request.sum.times.begin_ns, request.sum.times.end_ns);
    }
    const SearchScene scene = make_scene(machines, nullptr, query->kinds);
    ASSERT_TRUE(search_scene(scene, *query, {.max_steps = 100'000}).steps <= 100'000);
    bursts.push_back(machines);
  }
  ASSERT_TRUE(formats::write_perfetto_trace(bursts, [](std::string_view) { return Status(); }));
}

// What the store lists of it: numbers that a catalogue can have.
void expect_sound_summary(const BurstRecording& decoded) {
  const auto summary = store::summary_of(decoded);
  ASSERT_EQ(summary.has_value(), !decoded.bursts.empty());
  if (summary) {
    ASSERT_EQ(summary->bursts, decoded.bursts.size());
    ASSERT_LE(summary->lost, static_cast<uint64_t>(INT64_MAX));
    ASSERT_GE(summary->begin_ns, 0);
  }
}

TEST(FuzzBursts, DamagedRecordingsAreRefusedOrSound) {
  BurstRecording recording;
  recording.machine = "m";
  recording.config_bits = 0x7F00;
  recording.threads = {{0, 0, "idle"}, {1, 1, "a"}, {2, 2, "b"}};
  recording.stacks = {
      .binaries = {{"/bin/a", "12345678"}, {"[kernel]", ""}},
      .frames = {{0x1000, 0, BurstAddressKind::kElf, ""}, {0x10, 1, BurstAddressKind::kKernel, "schedule"}},
      .nodes = {{0, 0}, {1, 1}, {0, 1}}};
  Burst burst;
  for (uint32_t i = 0; i < 30; ++i) {
    const auto kind = static_cast<BurstEventKind>(i % kBurstEventKinds);
    burst.events.push_back({1'000'000 + i * int64_t{1000}, kind == BurstEventKind::kSample ? i % 4 : i, i,
                            i % 3, 0, static_cast<uint16_t>(i % 2), kind});
  }
  burst.on_ns = 1'000'000;
  burst.off_ns = 1'030'000;
  recording.bursts = {burst, burst};
  recording.texts = {"", "Store.Read", "store"};
  for (uint64_t i = 0; i < 30; ++i) {
    recording.details.push_back({.request = i, .call = i / 16, .text = 1, .peer = 2});
  }
  const std::string sound = encode_bursts(recording);
  std::mt19937_64 random(fuzz::seed(1));
  int read = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto decoded = decode_bursts(as_bytes(reframed(sound, random)));
    if (!decoded) {
      continue;
    }
    ++read;
    for (const Burst& one : decoded->bursts) {
      for (const BurstEvent& event : one.events) {
        ASSERT_LT(event.thread, decoded->threads.size());
        ASSERT_LT(event.other, decoded->threads.size());
        ASSERT_LT(static_cast<size_t>(event.kind), kBurstEventKinds);
        if (event.kind == BurstEventKind::kSample) {
          decoded->stacks.for_each_frame(event.first, [&](uint32_t frame) {
            ASSERT_FALSE(name_of_frame(decoded->stacks, frame).empty());
          });
        }
        ASSERT_TRUE(!is_of_application(event.kind) || event.second < decoded->details.size());
      }
    }
    // Joins all bursts, too.
    size_t written = 0;
    ASSERT_TRUE(write_chrome_json(*decoded, [&](std::string_view piece) {
      written += piece.size();
      return Status();
    }));
    ASSERT_GT(written, 0U);
    search_and_repair(recording, *decoded);
    expect_sound_summary(*decoded);
    // What is read can be written.
    ASSERT_TRUE(decode_bursts(as_bytes(encode_bursts(*decoded))) == *decoded);
  }
  EXPECT_GT(read, kMutations / 50);
}

}  // namespace
}  // namespace plimsoll::traces
