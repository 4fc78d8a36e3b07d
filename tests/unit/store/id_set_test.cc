#include "store/model/id_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace plimsoll::store {

void PrintTo(const IdRange& range, std::ostream* out) {
  *out << range.first << "-" << range.last;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IdSet, OfNothingElseIsAll) {
  const IdSet all;
  EXPECT_TRUE(all.is_all());
  EXPECT_TRUE(all.selects(UINT32_MAX));
  EXPECT_THAT(all.flags(), IsEmpty());
  EXPECT_THAT(all.ranges(), ElementsAre(IdRange{0, UINT32_MAX}));
  EXPECT_TRUE(IdSet::of_flags({}).is_all());
}

TEST(IdSet, OfNoIdsIsNotAll) {
  for (const IdSet& none : {IdSet::of({}), IdSet::of_ranges({}), IdSet::of_flags({false, false})}) {
    EXPECT_FALSE(none.is_all());
    EXPECT_FALSE(none.selects(0));
    EXPECT_FALSE(IdSet::selects(none.flags(), 0));
    EXPECT_THAT(none.ranges(), IsEmpty());
  }
}

TEST(IdSet, RangesAscendAndDoNotTouch) {
  EXPECT_THAT(IdSet::of({7, 3, 4, 3, 9}).ranges(), ElementsAre(IdRange{3, 4}, IdRange{7, 7}, IdRange{9, 9}));
  EXPECT_THAT(IdSet::of_ranges({{5, 9}, {0, 2}, {6, 7}, {3, 3}}).ranges(),
              ElementsAre(IdRange{0, 3}, IdRange{5, 9}));
  EXPECT_THAT(IdSet::of_flags({true, false, true, true}).ranges(), ElementsAre(IdRange{0, 0}, IdRange{2, 3}));
}

TEST(IdSet, TheLargestIdIsOneLikeOthers) {
  const IdSet set = IdSet::of_ranges({{UINT32_MAX - 1, UINT32_MAX}, {UINT32_MAX - 5, UINT32_MAX - 4}});
  EXPECT_TRUE(set.selects(UINT32_MAX));
  EXPECT_FALSE(set.selects(UINT32_MAX - 2));
  EXPECT_EQ(set.ranges().size(), 2);
}

// As sets of the standard library.
struct IdSetAndModel {
  IdSet set;
  std::set<uint32_t> ids;
};

IdSetAndModel random_set(std::mt19937& random, uint32_t count) {
  IdSetAndModel made;
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  std::vector<bool> flags(1 + below(count));
  std::vector<uint32_t> ids;
  std::vector<IdRange> ranges;
  switch (below(3)) {
    case 0:
      for (uint32_t id = 0; id < flags.size(); ++id) {
        flags[id] = below(3) == 0;
        if (flags[id]) {
          made.ids.insert(id);
        }
      }
      made.set = IdSet::of_flags(flags);
      break;
    case 1:
      for (uint32_t left = below(count); left > 0; --left) {
        ids.push_back(below(count));
        made.ids.insert(ids.back());
      }
      made.set = IdSet::of(ids);
      break;
    default:
      for (uint32_t left = below(6); left > 0; --left) {
        const uint32_t first = below(count);
        ranges.push_back({first, first + below(count - first)});
        for (uint32_t id = ranges.back().first; id <= ranges.back().last; ++id) {
          made.ids.insert(id);
        }
      }
      made.set = IdSet::of_ranges(ranges);
  }
  return made;
}

void expect_equal(const IdSet& set, const std::set<uint32_t>& ids, uint32_t count) {
  std::set<uint32_t> in_ranges;
  for (const IdRange& range : set.ranges()) {
    for (uint32_t id = range.first; id <= range.last; ++id) {
      in_ranges.insert(id);
    }
  }
  ASSERT_EQ(in_ranges, ids);
  for (uint32_t id = 0; id < count + 3; ++id) {
    ASSERT_EQ(set.selects(id), ids.contains(id)) << id;
    ASSERT_EQ(IdSet::selects(set.flags(), id), ids.contains(id)) << id;
  }
}

TEST(IdSet, IsTheSameInEachForm) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    const auto count = static_cast<uint32_t>(1 + random() % 60);
    const IdSetAndModel a = random_set(random, count);
    const IdSetAndModel b = random_set(random, count);
    ASSERT_NO_FATAL_FAILURE(expect_equal(a.set, a.ids, count));
    std::set<uint32_t> both;
    std::set<uint32_t> either = a.ids;
    for (const uint32_t id : b.ids) {
      either.insert(id);
      if (a.ids.contains(id)) {
        both.insert(id);
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(intersection_of(a.set, b.set), both, count));
    ASSERT_NO_FATAL_FAILURE(expect_equal(union_of(a.set, b.set), either, count));
  }
}

TEST(IdSet, WithAllAnIntersectionIsTheOtherSetAndAUnionIsAll) {
  const IdSet some = IdSet::of({2});
  EXPECT_THAT(intersection_of({}, some).ranges(), ElementsAre(IdRange{2, 2}));
  EXPECT_THAT(intersection_of(some, {}).ranges(), ElementsAre(IdRange{2, 2}));
  EXPECT_TRUE(union_of(some, {}).is_all());
  EXPECT_TRUE(union_of({}, some).is_all());
}

TEST(IdSet, AnIntersectionIsMadeByTheConditionsOfBoth) {
  const EntryCondition is_web{.dimension = "job", .values = {"web"}};
  const EntryCondition is_not_io{.dimension = "app", .values = {"io"}, .is_negated = true};
  const IdSet of_web = IdSet::of({1, 3, 5, 9}).made_by({.conditions = {is_web}, .middle = {10, 20}});
  EXPECT_EQ(IdSet::of({1}).selection(), nullptr);
  const IdSet few = intersection_of(IdSet::of_ranges({{3, 8}}), of_web);
  EXPECT_THAT(few.ranges(), ElementsAre(IdRange{3, 3}, IdRange{5, 5}));
  ASSERT_NE(few.selection(), nullptr);
  EXPECT_THAT(few.selection()->conditions, ElementsAre(is_web));
  EXPECT_THAT(few.selection()->among.ranges(), ElementsAre(IdRange{3, 8}));
  const IdSet others = IdSet::of({5, 6, 7}).made_by(
      {.among = IdSet::of({5, 6, 7, 8}), .conditions = {is_not_io}, .middle = {15, 30}});
  const IdSet both = intersection_of(few, others);
  EXPECT_THAT(both.ranges(), ElementsAre(IdRange{5, 5}));
  ASSERT_NE(both.selection(), nullptr);
  EXPECT_THAT(both.selection()->conditions, ElementsAre(is_web, is_not_io));
  EXPECT_THAT(both.selection()->among.ranges(), ElementsAre(IdRange{5, 8}));
  EXPECT_EQ(few.selection()->middle, (TimeSpan{10, 20}));
  EXPECT_EQ(both.selection()->middle, (TimeSpan{15, 20}));
  EXPECT_EQ(intersection_of({}, of_web).selection(), of_web.selection());
  EXPECT_EQ(union_of(of_web, few).selection(), nullptr) << "no conjunction says it";
}

TEST(IdSet, CopiesShareWhatIsMadeOnce) {
  const IdSet set = IdSet::of({1, 100'000});
  const IdSet copy = set;
  EXPECT_EQ(&set.flags(), &copy.flags());
  std::vector<std::thread> threads;
  const IdSet shared = IdSet::of_ranges({{5, 200'000}});
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared] { EXPECT_TRUE(IdSet::selects(shared.flags(), 200'000)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace plimsoll::store
