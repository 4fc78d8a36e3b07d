// The queries that docs/burst-search.md shows for the three stories, on stories that are written by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/bursts/documented_queries.h"
#include "tests/unit/traces/bursts/written_burst.h"
#include "traces/bursts/search/search.h"

namespace plimsoll::traces::search_stories_test {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kMs = 1000 * kUs;

struct Call {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string service;
  std::string operation;
  std::string block = {};
  std::string bytes = {};
};

// Of request 7, which thread 1 of machine "a" works for.
class Story {
 public:
  void add(const Call& call) {
    std::vector<Attribute> attributes{{"peer.service", call.service}};
    if (!call.block.empty()) {
      attributes.push_back({"block.id", call.block});
      attributes.push_back({"bytes", call.bytes});
    }
    ASSERT_TRUE(spans_.add({.trace = {.high = 1, .low = 7},
                            .id = ++last_id_,
                            .parent = 1,
                            .start_ns = call.start_ns,
                            .end_ns = call.end_ns,
                            .service = "front",
                            .operation = call.operation,
                            .machine = "a",
                            .kind = SpanKind::kClient,
                            .attributes = attributes}));
  }
  // Lines of written_burst().
  void add(const std::string& lines) { lines_ += lines; }

  // How many intervals each of the documented queries finds.
  std::vector<uint64_t> found() const {
    BurstRecording recording;
    recording.machine = "a";
    recording.config_bits = 0x7F00;
    recording.threads = {{0, 0, "idle"}, {11, 11, "worker"}, {12, 11, "waiter"}, {13, 13, "disk"}};
    recording.bursts.push_back(written_burst(lines_, 0, 256 * kMs));
    const SearchSpans spans(spans_);
    std::vector<uint64_t> counts;
    for (const std::string& text : testing::documented_stories()) {
      const auto query = parse_search(text);
      EXPECT_TRUE(query) << text << ": " << query.error().text();
      if (query) {
        const SearchScene scene =
            make_scene({{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}, &spans,
                       query->kinds);
        counts.push_back(search_scene(scene, *query).found);
      }
    }
    return counts;
  }

 private:
  SpanSet spans_{{.max_spans = 1000, .max_names = 100, .keeps_attributes = true, .attributes = {}}};
  SpanId last_id_ = 1;
  std::string lines_;
};

using Counts = std::vector<uint64_t>;

// A request of 60 ms that reads blocks of 2 MB, 1 ms after one another.
Story reads_of(const std::array<std::string, 3>& blocks) {
  Story story;
  story.add(fmt::format("{} mark 1 1 7\n{} mark 1 2 7\n", 10 * kMs, 70 * kMs));
  int64_t time_ns = 12 * kMs;
  for (const std::string& block : blocks) {
    story.add({.start_ns = time_ns,
               .end_ns = time_ns + 3 * kMs,
               .service = "store",
               .operation = "Read",
               .block = block,
               .bytes = "2000000"});
    time_ns += 4 * kMs;
  }
  return story;
}

TEST(DocumentedStories, FindAnIndexBlockThatIsReadAgainAndAgain) {
  EXPECT_EQ(reads_of({"17", "17", "17"}).found(), (Counts{1, 0, 0, 0}));
  EXPECT_EQ(reads_of({"17", "18", "19"}).found(), (Counts{0, 0, 0, 0}));
}

// A thread waits for each reply, and computes for 100 us after it: its client span ends once it runs again.
Story fetches(int calls, const std::string& operation, int64_t wait_ns) {
  Story story;
  int64_t time_ns = 10 * kMs;
  story.add(fmt::format("{} mark 1 1 7\n", time_ns));
  for (int i = 0; i < calls; ++i) {
    const int64_t start_ns = time_ns;
    story.add(fmt::format("{} switch 1 S 0\n{} interrupt 0 1\n{} switch 0 Y 1\n", start_ns + 20 * kUs,
                          start_ns + 20 * kUs + wait_ns, start_ns + 50 * kUs + wait_ns));
    story.add({.start_ns = start_ns,
               .end_ns = start_ns + 60 * kUs + wait_ns,
               .service = "properties",
               .operation = operation});
    time_ns = start_ns + 160 * kUs + wait_ns;
  }
  story.add(fmt::format("{} mark 1 2 7\n", time_ns));
  return story;
}

TEST(DocumentedStories, FindPropertiesThatAreFetchedOneByOne) {
  EXPECT_EQ(fetches(12, "GetProperty", kMs).found(), (Counts{0, 1, 0, 0}));
  EXPECT_EQ(fetches(12, "GetItem", kMs).found(), (Counts{0, 0, 0, 0}));
  EXPECT_EQ(fetches(5, "GetProperty", kMs).found(), (Counts{0, 0, 0, 0}));
  EXPECT_EQ(fetches(12, "GetProperty", 10 * kUs).found(), (Counts{0, 0, 0, 0})) << "it runs most of the time";
}

// Request 7 holds the lock; request 8, of thread 2, waits for it meanwhile.
Story lock_with(const std::string& meanwhile) {
  Story story;
  story.add("1000 mark 1 1 7\n1500 mark 1 5 77\n2000 mark 2 1 8\n3000 mark 2 4 77\n3100 switch 2 S 0\n");
  story.add(meanwhile);
  story.add("6000 wake 1 2\n6100 switch 0 Y 2\n6200 mark 2 5 77\n7000 mark 2 2 8\n8000 mark 1 2 7\n");
  return story;
}

TEST(DocumentedStories, FindALockThatIsHeldByARequestThatWaits) {
  EXPECT_EQ(lock_with("3200 switch 1 S 0\n5000 wake 3 1\n5100 switch 0 Y 1\n").found(), (Counts{0, 0, 1, 1}));
  EXPECT_EQ(lock_with("").found(), (Counts{0, 0, 0, 0}));
}

}  // namespace
}  // namespace plimsoll::traces::search_stories_test
