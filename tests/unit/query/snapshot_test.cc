#include "query/snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/compaction/compactor.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/hooked_source.h"

namespace plimsoll::query {
namespace {

std::string functions(const Snapshot& snapshot) {
  return brief(top(*parse_top({}, 0), snapshot));
}

TEST(SnapshotCache, HandsOutTheSameSnapshotUntilSomethingIsCommitted) {
  Fleet fleet;
  fleet.add({.seed = 1, .stacks = "first 1\n"});
  SnapshotCache cache(fleet.path());
  const auto first = cache.newest();
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(*cache.newest(), *first);
  EXPECT_EQ(functions(**first), "first 1 1\n");

  fleet.add({.seed = 2, .stacks = "second 2\n"});
  const auto second = cache.newest();
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_NE(*second, *first);
  EXPECT_EQ(functions(**second), "second 2 2\nfirst 1 1\n");
  EXPECT_EQ(*cache.newest(), *second);
}

TEST(SnapshotCache, SeesMachinesThatRegister) {
  Fleet fleet;
  SnapshotCache cache(fleet.path());
  EXPECT_EQ((*cache.newest())->machines_registered, 0);
  fleet.register_machine("m1");
  EXPECT_EQ((*cache.newest())->machines_registered, 1);
}

TEST(SnapshotCache, OfADirectoryThatComesLaterWorksThen) {
  const testing::TemporaryDirectory folder;
  SnapshotCache cache(folder / "data");
  EXPECT_FALSE(cache.newest());
  ASSERT_TRUE(store::Ingest::open(folder / "data"));
  const auto snapshot = cache.newest();
  EXPECT_TRUE(snapshot) << snapshot.error().text();
}

TEST(Snapshot, StaysAsItWasWhileTheWriterGoesOn) {
  Fleet fleet;
  fleet.add({.seed = 1, .stacks = "main;old 1\n"});
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  for (uint64_t seed = 2; seed < 12; ++seed) {
    fleet.add(
        {.seed = seed, .machine = fmt::format("m{}", seed), .stacks = fmt::format("main;new{} 5\n", seed)});
    ASSERT_EQ(functions(**snapshot), "old 1 1\nmain 0 1\n");
  }
  EXPECT_EQ(brief(fleet.top({{"limit", "2"}})), "new10 5 5\nnew11 5 5\n");
}

TEST(Snapshot, ReadsTheListAgainWhereSegmentsWereMergedBeforeTheyWereOpened) {
  Fleet fleet;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    fleet.add({.seed = seed, .stacks = "work 1\n"});
  }
  const auto compactor = *store::Compactor::open(
      fleet.ingest(), {.min_inputs = 2, .max_inputs = 2, .keep_replaced = std::chrono::seconds(0)});
  std::vector<size_t> lists;
  const auto snapshot = load_hooked(fleet.path(), [&](const std::vector<std::string>& paths) {
    lists.push_back(paths.size());
    if (lists.size() <= 3) {
      EXPECT_TRUE(compactor->merge_once());
    }
  });
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_THAT(lists, ::testing::ElementsAre(20, 19, 18, 17));
  EXPECT_EQ(functions(**snapshot), "work 20 20\n");
}

TEST(Snapshot, ASegmentThatIsGoneForGoodIsLeftOutAndNamed) {
  Fleet fleet;
  fleet.add({.seed = 1, .stacks = "work 1\n"});
  fleet.add({.seed = 2, .stacks = "rest 2\n"});
  std::filesystem::remove(fleet.path() + "/blocks/000001/segments/000000000001.rows");
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ(functions(**snapshot), "rest 2 2\n");
  const auto damage = (*snapshot)->rows->damage();
  ASSERT_EQ(damage.size(), 1);
  EXPECT_THAT(damage[0].why, ::testing::HasSubstr("000000000001.rows"));
  EXPECT_EQ(damage[0].rows, 1);
}

}  // namespace
}  // namespace plimsoll::query
