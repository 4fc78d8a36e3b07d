// Damaged searches of bursts: refused at a column, or evaluated within their limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "traces/bursts/search/search.h"

namespace plimsoll::traces::fuzz_search_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kMutations = 10'000;
constexpr std::array<const char*, 6> kQueries{
    "request{duration > 50ms} with >= 3 own rpc{service = store, bytes > 1MB} same operation each within 5ms",
    "lock_hold{lock = 0x7f} overlapping own blocked{thread = outer.thread, waker != outer.thread}",
    "request{whole = yes, cpu_share < 50%} with >= 10 own running{duration < 1ms} each within 2ms",
    "blocked{name ~ \"work\"} not after within 5us wake{woken = outer.thread} then wake then within 1ms "
    "fault",
    "span{http.route = \"/cart\" | \"/pay\"} during (rpc with (span not with phase{phase = parse}))",
    "running{machine = a} with = 0 (syscall{number = 39} with fault) with <= 7 wake"};

SearchScene scene_of(const BurstRecording& recording, std::mt19937_64& random) {
  SearchScene scene;
  scene.machines = {{.recording = &recording, .burst = nullptr, .shift_ns = 0}};
  scene.machine_names = {"a"};
  // Items of spans would need spans.
  for (size_t kind = 0; kind < static_cast<size_t>(ItemKind::kRpc); ++kind) {
    for (int i = 0; i < 40; ++i) {
      SearchItem item;
      item.begin_ns = static_cast<int64_t>(random() % 1'000'000);
      item.end_ns = item.begin_ns + static_cast<int64_t>(random() % 100'000);
      item.request = random() % 3;
      item.value = random() % 3;
      item.thread = static_cast<uint32_t>(random() % 2);
      item.detail = static_cast<uint32_t>(scene.requests.size());
      scene.items[kind].push_back(item);
      scene.requests.push_back({.request = item.request, .begin_ns = item.begin_ns, .end_ns = item.end_ns});
    }
    std::ranges::sort(scene.items[kind], {}, &SearchItem::begin_ns);
  }
  return scene;
}

TEST(FuzzBurstSearch, DamagedQueriesAreRefusedOrEvaluated) {
  std::mt19937_64 random(fuzz::seed(1));
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {1, 1, "worker"}};
  const SearchScene scene = scene_of(recording, random);
  int read = 0;
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string text = fuzz::mutated(kQueries[static_cast<size_t>(i) % kQueries.size()], random);
    const auto query = parse_search(text);
    if (!query) {
      ++refused;
      ASSERT_THAT(query.error().message, AnyOf(HasSubstr("column "), HasSubstr("at most 16384 bytes")))
          << text;
      ASSERT_EQ(query.error().code, ErrorCode::kInvalid);
      continue;
    }
    ++read;
    constexpr uint64_t kMaxSteps = 100'000;
    const SceneAnswers answers = search_scene(scene, *query, {.max_answers = 20, .max_steps = kMaxSteps});
    ASSERT_LE(answers.steps, kMaxSteps);
    ASSERT_LE(answers.answers.size(), 20U);
    ASSERT_TRUE(!answers.is_cut || answers.answers.empty());
  }
  EXPECT_GT(read, kMutations / 100);
  EXPECT_GT(refused, kMutations / 10);
}

}  // namespace
}  // namespace plimsoll::traces::fuzz_search_test
