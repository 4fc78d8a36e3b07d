// Events that say how much there was, not what happened: snapshots of heaps.
#include <gtest/gtest.h>

#include "tests/start.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kNoonNs;

constexpr int64_t kMinuteNs = 60'000'000'000;

struct Heap {
  uint64_t seed = 1;
  std::string machine = "m1";
  std::string series = "scrape:server/heap";
  int64_t minute = 0;
  std::string stacks;
};

wire::RawProfile heap(const Heap& spec) {
  wire::RawProfile profile =
      make_profile({.seed = spec.seed,
                    .machine = spec.machine,
                    .from_ns = kNoonNs + spec.minute * kMinuteNs,
                    .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
                    .stacks = spec.stacks});
  profile.mutable_assignment()->set_id(spec.series);
  return profile;
}

TEST(SnapshotEvents, SeveralSnapshotsOfAHeapShowTheirMean) {
  Fleet fleet;
  fleet.add(heap({.seed = 1, .minute = 0, .stacks = "main;load 100\nmain;serve 10\n"}));
  fleet.add(heap({.seed = 2, .minute = 1, .stacks = "main;load 100\nmain;serve 30\n"}));
  fleet.add(heap({.seed = 3, .minute = 2, .stacks = "main;load 100\n"}));
  fleet.add(heap({.seed = 4, .minute = 3, .stacks = "main;load 100\n"}));
  EXPECT_EQ(brief(fleet.top({})),
            "load 100 100\n"
            "serve 10 10\n"
            "main 0 110\n");
}

TEST(SnapshotEvents, TheMeanIsOverTheSelectedTimeOnly) {
  Fleet fleet;
  fleet.add(heap({.seed = 1, .minute = 0, .stacks = "main 100\n"}));
  fleet.add(heap({.seed = 2, .minute = 10, .stacks = "main 300\n"}));
  EXPECT_EQ(brief(fleet.top({})), "main 200 200\n");
  EXPECT_EQ(brief(fleet.top({{"until", "2023-11-15T12:05:00Z"}})), "main 100 100\n");
}

TEST(SnapshotEvents, HeapsOfDifferentProgramsAndMachinesAddUp) {
  Fleet fleet;
  fleet.add(heap({.seed = 1, .machine = "m1", .series = "a", .stacks = "main 100\n"}));
  fleet.add(heap({.seed = 2, .machine = "m1", .series = "b", .stacks = "main 20\n"}));
  fleet.add(heap({.seed = 3, .machine = "m2", .series = "a", .stacks = "main 3\n"}));
  EXPECT_EQ(brief(fleet.top({})), "main 123 123\n");
}

TEST(SnapshotEvents, AnEmptySnapshotCountsInTheMean) {
  Fleet fleet;
  wire::RawProfile empty = heap({.seed = 1, .minute = 0, .stacks = "main 1\n"});
  empty.clear_samples();
  empty.mutable_events(0)->set_hits(0);
  empty.mutable_events(0)->set_counter_total(0);
  fleet.add(empty);
  fleet.add(heap({.seed = 2, .minute = 1, .stacks = "main 100\n"}));
  EXPECT_EQ(brief(fleet.top({})), "main 50 50\n");
}

TEST(SnapshotEvents, ADrawsIntervalDoesNotMultiplyThem) {
  Fleet fleet;
  wire::RawProfile profile = heap({.stacks = "main 100\n"});
  wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
  draw.set_id("nightly");
  draw.set_inclusion_probability(0.5);
  draw.set_interval_ns(60 * kMinuteNs);
  fleet.add(profile);
  EXPECT_EQ(brief(fleet.top({})), "main 200 200\n") << "one of two machines was drawn";
}

TEST(SnapshotEvents, EventsBesideThemAddUpAsEver) {
  Fleet fleet;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    wire::RawProfile profile =
        make_profile({.seed = seed,
                      .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT},
                                 {.name = "alloc-bytes", .unit = wire::BYTES, .kind = wire::DELTA}},
                      .stacks = "main 100\nevent=alloc-bytes main 7\n"});
    profile.mutable_assignment()->set_id("scrape:server/heap");
    fleet.add(profile);
  }
  EXPECT_EQ(brief(fleet.top({{"event", "heap-inuse-bytes"}})), "main 100 100\n");
  EXPECT_EQ(brief(fleet.top({{"event", "alloc-bytes"}})), "main 14 14\n");
}

}  // namespace
}  // namespace plimsoll::query
