// Whole stacks by the names of their functions, against their texts.
#include "query/rows/named_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <regex>

#include "query/snapshot/dimension.h"
#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const HiddenFrames> hide(const std::string& pattern, const Snapshot& snapshot) {
  const std::regex regex(pattern);
  return std::make_shared<HiddenFrames>(
      pattern,
      [&](FramePlace place) { return std::regex_search(frame_value(snapshot, "function", place), regex); },
      snapshot);
}

std::vector<std::string> texts_in_order(const NamedStacks& stacks) {
  const std::vector<uint32_t> ranks = stacks.ranks();
  std::vector<uint32_t> numbers(ranks.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::ranges::sort(numbers, {}, [&](uint32_t number) { return ranks[number]; });
  std::vector<std::string> texts;
  std::ranges::transform(numbers, std::back_inserter(texts),
                         [&](uint32_t number) { return stacks.text(number); });
  return texts;
}

TEST(NamedStacks, AreOrderedByTheirNamesFromTheRootOn) {
  Fleet fleet;
  fleet.add({.stacks = "main;read 1\nmain;read;lex 1\nmain;parse;read 1\n\"\" 1\na;z 1\nmain;parse 1\n"});
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot);
  NamedStacks stacks(**snapshot, nullptr);
  for (uint32_t stack = 0; stack < (*snapshot)->dictionaries.stacks.size(); ++stack) {
    stacks.number_of(stack);
  }
  EXPECT_THAT(texts_in_order(stacks), ElementsAre("[no stack]", "a", "a;z", "main", "main;parse",
                                                  "main;parse;read", "main;read", "main;read;lex"));
}

class RandomNamedStacks : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomNamedStacks, HaveOneNumberWhereTheirTextsAreEqual) {
  model::Random random(GetParam());
  Fleet fleet;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    fleet.add(model::random_profile(random, seed));
  }
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot);
  for (const auto& hidden : {std::shared_ptr<const HiddenFrames>(), hide("[aeiou]$", **snapshot)}) {
    NamedStacks stacks(**snapshot, hidden);
    std::map<std::string, uint32_t> number_of;
    std::vector<uint32_t> asked((*snapshot)->dictionaries.stacks.size());
    std::iota(asked.begin(), asked.end(), 0U);
    std::ranges::shuffle(asked, random);
    for (const uint32_t stack : asked) {
      const std::string text = stack_value(**snapshot, stack, hidden.get());
      const uint32_t number = stacks.number_of(stack);
      EXPECT_EQ(stacks.text(number), text);
      EXPECT_EQ(number_of.try_emplace(text, number).first->second, number) << text;
    }
    EXPECT_EQ(stacks.ranks().size(), number_of.size()) << "dense from 0";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNamedStacks, ::testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace plimsoll::query
