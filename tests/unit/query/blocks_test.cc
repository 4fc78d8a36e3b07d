// Questions to a data directory of several blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "query/views/flame.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHourNs = 3600 * int64_t{1'000'000'000};

// An hour apart.
std::vector<ProfileSpec> three_hours() {
  return {{.seed = 1,
           .machine = "m1",
           .from_ns = kProfileStartNs,
           .stacks = "main;parse;read 3\nprocess=worker thread=w1 main;parse 2\n"},
          {.seed = 2,
           .machine = "m2",
           .from_ns = kProfileStartNs + kHourNs,
           .stacks = "main;render 5\nprocess=worker thread=w2 main;parse;read 7\n"},
          {.seed = 3,
           .machine = "m1",
           .from_ns = kProfileStartNs + 2 * kHourNs,
           .stacks = "main;parse;read;parse 11\n"}};
}

std::vector<std::string> ranges() {
  return {format_time(kProfileStartNs - 1), format_time(kProfileStartNs + kHourNs / 2),
          format_time(kProfileStartNs + 3 * kHourNs / 2), format_time(kProfileStartNs + 3 * kHourNs)};
}

TEST(Blocks, AnswerTogetherAsOneDoes) {
  Fleet one;
  Fleet many({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    one.add(spec);
    many.add(spec);
  }
  ASSERT_EQ(one.ingest().blocks()->size(), 1);
  ASSERT_EQ(many.ingest().blocks()->size(), 3);
  const auto times = ranges();
  for (size_t first = 0; first < times.size(); ++first) {
    for (size_t last = first + 1; last < times.size(); ++last) {
      for (const char* by :
           {"function", "machine", "app", "thread", "machine,function", "stack", "location"}) {
        const Parameters parameters{{"by", by}, {"since", times[first]}, {"until", times[last]}};
        const std::string expected = brief(one.top(parameters));
        EXPECT_EQ(brief(many.top(parameters)), expected) << by << " " << first << " to " << last;
      }
    }
  }
  EXPECT_EQ(brief(many.top({{"by", "function"}})), "parse 13 23\nread 10 21\nrender 5 5\nmain 0 28\n");
}

// Of the profile whose hour it is, without the others' names.
TEST(Blocks, OfOtherTimesAreNotRead) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  const auto snapshot = *Snapshot::load(
      fleet.path(), {{.from_ns = kProfileStartNs + kHourNs, .to_ns = kProfileStartNs + kHourNs + 1}});
  EXPECT_EQ(snapshot->dictionaries.origins.size(), 2);
  EXPECT_EQ(snapshot->dictionaries.machines[1].machine_id, "m2");
  EXPECT_EQ(snapshot->history_from_ns, kProfileStartNs);
  EXPECT_EQ(snapshot->history_to_ns, kProfileStartNs + 2 * kHourNs + ProfileSpec().length_ns);
}

TEST(Blocks, WhereThereIsNothingItIsSaidWhatThereIs) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  const auto table = fleet.top({{"since", format_time(kProfileStartNs + 9 * kHourNs)}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes,
              ::testing::Contains(HasSubstr("there are profiles from " + format_time(kProfileStartNs))));
}

// A draw's profiles stand for its machines together, wherever they are.
TEST(Blocks, NearATimeAreReadForTheDrawsThatSpanIt) {
  Fleet fleet({.max_profiles = 1});
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto profile = make_profile({.seed = seed,
                                 .machine = fmt::format("m{}", seed),
                                 .from_ns = kProfileStartNs + static_cast<int64_t>(seed) * kHourNs,
                                 .stacks = "main 1\n"});
    if (seed < 3) {
      wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
      draw.set_id("one");
      draw.set_inclusion_probability(1);
      draw.set_interval_ns(2 * kHourNs);
    }
    fleet.add(profile);
  }
  const auto snapshot = *Snapshot::load(
      fleet.path(), {{.from_ns = kProfileStartNs + kHourNs, .to_ns = kProfileStartNs + kHourNs + 1}});
  EXPECT_EQ(snapshot->dictionaries.machines.size(), 3) << "and the empty entry";
}

// The cache's series goes from one block to two and on.
TEST(Blocks, AreFollowedAsTheyAreSealed) {
  Fleet fleet({.max_profiles = 2});
  SnapshotCache cache(fleet.path());
  for (uint64_t seed = 1; seed <= 7; ++seed) {
    fleet.add({.seed = seed, .stacks = fmt::format("main;f{} {}\n", seed % 3, seed)});
    const auto followed = *cache.newest();
    const auto read = *Snapshot::load(fleet.path());
    for (const auto& snapshot : {followed, read}) {
      EXPECT_EQ(brief(top(*parse_top({{"by", "function"}}, 0), *snapshot)),
                brief(fleet.top({{"by", "function"}})));
    }
    EXPECT_EQ(*cache.newest(), followed) << "nothing has changed";
  }
  EXPECT_EQ(fleet.ingest().blocks()->size(), 4);
}

TEST(Blocks, OneThatIsMissingIsNamed) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  std::filesystem::remove_all(fleet.path() + "/blocks/000002");
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(snapshot.error().text(), HasSubstr("between 000001 and 000003"));
}

}  // namespace
}  // namespace plimsoll::query
