#include "store/building/stack_adder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;

class StackAdderTest : public ::testing::Test {
 protected:
  static wire::Stacks stacks_of(const std::vector<StackNode>& nodes) {
    wire::Stacks stacks;
    for (const StackNode& node : nodes) {
      stacks.add_parent(node.parent);
      stacks.add_location(node.location);
    }
    return stacks;
  }

  std::vector<uint32_t> add(const std::vector<StackNode>& nodes, const std::vector<uint32_t>& locations) {
    return add_stacks(stacks_of(nodes), locations, dictionaries_);
  }

  DictionaryBuilder dictionaries_{Dictionaries()};
};

TEST_F(StackAdderTest, NewStacksGetIdsInTheProfilesOrder) {
  // The first stack is two deep before the second begins.
  EXPECT_THAT(add({{0, 0}, {1, 1}, {0, 1}, {1, 0}}, {7, 8}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(dictionaries_.entries().stacks[2], (StackNode{1, 8}));
  EXPECT_EQ(dictionaries_.entries().stacks[3], (StackNode{0, 8}));
}

TEST_F(StackAdderTest, KnownStacksKeepTheirIdsWhereverTheyStand) {
  ASSERT_THAT(add({{0, 0}, {1, 1}}, {7, 8}), ElementsAre(0, 1, 2));
  EXPECT_THAT(add({{0, 0}, {0, 1}, {2, 0}, {1, 1}}, {8, 7}), ElementsAre(0, 3, 1, 2, 4));
}

TEST_F(StackAdderTest, OneStackThatAProfileHasTwiceIsOne) {
  EXPECT_THAT(add({{0, 0}, {0, 0}, {1, 0}, {2, 0}}, {7}), ElementsAre(0, 1, 1, 2, 2));
}

TEST_F(StackAdderTest, AProfileWithoutStacksHasTheEmptyOne) {
  EXPECT_THAT(add({}, {}), ElementsAre(0));
}

TEST_F(StackAdderTest, RandomTreesAgreeWithAMap) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> model;
  std::mt19937_64 random(3);
  for (int profile = 0; profile < 20; ++profile) {
    const std::vector<uint32_t> locations{3, 1, 4, 1, 5};
    std::vector<StackNode> nodes;
    std::vector<uint32_t> expected{0};
    const auto nearest = static_cast<uint32_t>(1 + random() % 50);  // small: long chains
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t parent = i - static_cast<uint32_t>(random() % std::min(nearest, i + 1));
      const auto location = static_cast<uint32_t>(random() % locations.size());
      nodes.push_back({parent, location});
      const auto next = static_cast<uint32_t>(model.size() + 1);
      expected.push_back(model.try_emplace({expected[parent], locations[location]}, next).first->second);
    }
    ASSERT_EQ(add(nodes, locations), expected) << "profile " << profile;
  }
}

}  // namespace
}  // namespace plimsoll::store
