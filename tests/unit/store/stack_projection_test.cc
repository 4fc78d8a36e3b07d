#include "store/model/stack_projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;

//   1 main ── 2 parse ── 3 parse (recursion)
//         └── 4 render, inlined into it: blend
struct Tree {
  std::vector<StackNode> stacks{{0, 0}, {0, 1}, {1, 2}, {2, 2}, {1, 3}};
  enum Key : uint32_t { kNoStack, kMain, kParse, kBlend, kRender };
  std::vector<uint32_t> first_key{0, 1, 2, 3, 5};
  std::vector<uint32_t> key{kNoStack, kMain, kParse, kBlend, kRender};
  LocationKeys keys{first_key, key};
};

TEST(StackProjectionTest, SelfBelongsToTheInnermostFrameOfTheLeaf) {
  const Tree tree;
  const StackProjection projection(tree.stacks, tree.keys);
  EXPECT_THAT(projection.self({{7, 1, 2, 4, 8}}), ElementsAre(7, 1, 2 + 4, 8, 0));
}

TEST(StackProjectionTest, TotalCountsAFunctionOnceHoweverOftenItIsOnAStack) {
  const Tree tree;
  const StackProjection projection(tree.stacks, tree.keys);
  EXPECT_THAT(projection.total({{7, 1, 2, 4, 8}}), ElementsAre(7, 1 + 2 + 4 + 8, 2 + 4, 8, 8));
}

TEST(StackProjectionTest, ANodeOfTheMergedTreeHoldsWhatIsBelowIt) {
  const Tree tree;
  const StackProjection projection(tree.stacks, tree.keys);
  EXPECT_THAT(projection.subtrees({{7, 1, 2, 4, 8}}), ElementsAre(7, 15, 6, 4, 8));
}

TEST(StackProjectionTest, MissingValuesAreZero) {
  const Tree tree;
  const StackProjection projection(tree.stacks, tree.keys);
  EXPECT_THAT(projection.total({{0, 1}}), ElementsAre(0, 1, 0, 0, 0));
  EXPECT_THAT(projection.self({}), ElementsAre(0, 0, 0, 0, 0));
}

TEST(StackProjectionTest, AKeyTreeTellsApartOnlyWhatItsKeysDo) {
  const Tree tree;
  const StackProjection projection(tree.stacks, tree.keys);
  const KeyTree keys = projection.key_tree(std::vector<uint32_t>{Tree::kMain, Tree::kRender});
  EXPECT_THAT(keys.class_of_stack, ElementsAre(0, 1, 1, 1, 2));
  EXPECT_THAT(keys.total({{7, 1 + 2 + 4, 8}}, 2), ElementsAre(1 + 2 + 4 + 8, 8));
}

// One to three keys of eight for each location.
struct KeyLists {
  std::vector<std::vector<uint32_t>> of_location;
  mutable std::vector<uint32_t> first;
  mutable std::vector<uint32_t> keys;

  KeyLists(uint32_t locations, std::mt19937_64& random) { add(locations, random); }
  void add(uint32_t locations, std::mt19937_64& random) {
    for (uint32_t i = 0; i < locations; ++i) {
      of_location.emplace_back();
      change(static_cast<uint32_t>(of_location.size() - 1), random);
    }
  }
  void change(uint32_t location, std::mt19937_64& random) {
    of_location[location].resize(1 + random() % 3);
    for (uint32_t& key : of_location[location]) {
      key = static_cast<uint32_t>(random() % 8);
    }
  }
  // Valid until the next call.
  LocationKeys view() const {
    first.assign(1, 0);
    keys.clear();
    for (const auto& of : of_location) {
      keys.insert(keys.end(), of.begin(), of.end());
      first.push_back(static_cast<uint32_t>(keys.size()));
    }
    return {first, keys};
  }
};

void add_stacks(size_t count, uint32_t locations, std::vector<StackNode>& stacks, std::mt19937_64& random) {
  for (size_t i = 0; i < count; ++i) {
    stacks.push_back(
        {static_cast<uint32_t>(random() % stacks.size()), static_cast<uint32_t>(random() % locations)});
  }
}

// Stacks and locations are added, and the keys of some locations change: of so few that only stacks with these are projected again, or
// of so many that all are.
TEST(StackProjectionTest, AnExtendedProjectionEqualsAFreshOne) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 100; ++round) {
    KeyLists lists(20, random);
    std::vector<StackNode> stacks{{0, 0}};
    add_stacks(200, 20, stacks, random);
    auto projection = std::make_unique<StackProjection>(stacks, lists.view());
    for (int step = 0; step < 10; ++step) {
      std::vector<bool> changed;
      for (uint64_t changes = random() % 3; changes > 0; --changes) {
        changed.resize(lists.of_location.size());
        const auto location = static_cast<uint32_t>(1 + random() % (changed.size() - 1));
        lists.change(location, random);
        changed[location] = true;
      }
      lists.add(static_cast<uint32_t>(random() % 3), random);
      add_stacks(random() % 50, static_cast<uint32_t>(lists.of_location.size()), stacks, random);
      const LocationKeys keys = lists.view();
      projection = std::make_unique<StackProjection>(*projection, stacks, keys, changed);
      const StackProjection fresh(stacks, keys);
      std::vector<double> values(stacks.size());
      std::ranges::generate(values, [&] { return static_cast<double>(random() % 100); });
      // Of keys that are gone there may be some left.
      auto total = fresh.total(values);
      auto self = fresh.self(values);
      total.resize(projection->keys());
      self.resize(projection->keys());
      ASSERT_EQ(projection->total(values), total) << "round " << round << ", step " << step;
      ASSERT_EQ(projection->self(values), self) << "round " << round << ", step " << step;
      ASSERT_EQ(projection->subtrees(values), fresh.subtrees(values));
    }
  }
}

TEST(StackProjectionTest, AgreesWithTheDefinitionOnRandomTrees) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto locations = static_cast<uint32_t>(1 + random() % 12);
    const KeyLists lists(locations, random);
    const LocationKeys keys = lists.view();
    std::vector<StackNode> stacks{{0, 0}};
    std::vector<double> values{static_cast<double>(random() % 100)};
    for (uint32_t id = 1; id < 60; ++id) {
      stacks.push_back({static_cast<uint32_t>(random() % id), static_cast<uint32_t>(random() % locations)});
      values.push_back(static_cast<double>(random() % 100));
    }
    const StackProjection projection(stacks, keys);
    std::vector<double> self(projection.keys());
    std::vector<double> total(projection.keys());
    for (uint32_t id = 0; id < stacks.size(); ++id) {
      self[keys.of(id == 0 ? 0 : stacks[id].location).front()] += values[id];
      std::set<uint32_t> on_stack;
      for (uint32_t node = id; node != 0; node = stacks[node].parent) {
        const auto frames = keys.of(stacks[node].location);
        on_stack.insert(frames.begin(), frames.end());
      }
      if (id == 0) {
        on_stack.insert(keys.of(0).begin(), keys.of(0).end());
      }
      for (const uint32_t key : on_stack) {
        total[key] += values[id];
      }
    }
    ASSERT_EQ(projection.self(values), self) << "round " << round;
    ASSERT_EQ(projection.total(values), total) << "round " << round;

    std::vector<uint32_t> few{static_cast<uint32_t>(random() % projection.keys())};
    few.push_back((few[0] + 1) % static_cast<uint32_t>(projection.keys()));
    const KeyTree tree = projection.key_tree(few);
    std::vector<double> by_class(tree.classes.size());
    for (uint32_t id = 0; id < stacks.size(); ++id) {
      by_class[tree.class_of_stack[id]] += values[id];
    }
    if (few[0] != few[1]) {
      ASSERT_EQ(tree.total(by_class, 2), (std::vector{total[few[0]], total[few[1]]})) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace plimsoll::store
