#include "traces/model/attribute_set_cache.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "traces/model/attribute_table.h"

namespace plimsoll::traces {
namespace {

using List = std::vector<Attribute>;

TEST(AttributeSetCache, FindsWhatWasKeptForTheSameList) {
  AttributeSetCache cache;
  EXPECT_EQ(cache.find(List{{"hw", "c6"}}), std::nullopt);
  cache.keep(7);
  EXPECT_EQ(cache.find(List{{"hw", "c6"}}), 7);
  // The same letters in other places.
  EXPECT_EQ(cache.find(List{{"hwc", "6"}}), std::nullopt);
  EXPECT_EQ(cache.find(List{{"hw", "c6"}, {"", ""}}), std::nullopt);
  cache.keep(8);
  EXPECT_EQ(cache.find(List{{"hw", "c6"}}), 7);
  cache.clear();
  EXPECT_EQ(cache.find(List{{"hw", "c6"}}), std::nullopt);
}

TEST(AttributeSetCache, KeepsNoLongList) {
  AttributeSetCache cache;
  const std::string value(AttributeSetCache::kMaxListBytes, 'x');
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(cache.find(List{{"key", value}}), std::nullopt);
    cache.keep(7);
  }
  EXPECT_EQ(cache.find(List{}), std::nullopt);
}

// Whether a list is found right after it was kept, once so many were, each of which was asked for so often.
bool is_kept_after(size_t lists, int times) {
  AttributeSetCache cache;
  for (size_t i = 0; i <= lists; ++i) {
    const std::string value = std::to_string(i);
    for (int time = 0; time < times; ++time) {
      if (!cache.find(List{{"request", value}})) {
        cache.keep(7);
      }
    }
  }
  const std::string last = std::to_string(lists);
  return cache.find(List{{"request", last}}).has_value();
}

TEST(AttributeSetCache, GivesUpWhereEachListComesOnce) {
  EXPECT_TRUE(is_kept_after(AttributeSetCache::kMaxLists - 1, 1));
  EXPECT_FALSE(is_kept_after(AttributeSetCache::kMaxLists, 1));
  EXPECT_TRUE(is_kept_after(AttributeSetCache::kMaxLists, 2));
  EXPECT_TRUE(is_kept_after(10 * AttributeSetCache::kMaxLists, 2));
}

// Keys become unbounded as values and sets are too many: what was kept before must not be found any more. An attribute without a key is no part of a
// set, and makes each list another one.
TEST(AttributeSetCache, ChangesNoSetOfATable) {
  for (const bool names_others : {false, true}) {
    const AttributeLimits limits{
        .max_keys = 6, .max_values = 12, .max_sets = 120, .names_others = names_others};
    AttributeTable table(limits);
    AttributeTable uncached(limits);
    std::mt19937_64 random(39);
    for (int i = 0; i < 20'000; ++i) {
      std::vector<std::string> texts;
      for (uint64_t count = random() % 3; count > 0; --count) {
        texts.push_back("key" + std::to_string(random() % 8));
        // Some values come often.
        texts.push_back(std::to_string(random() % (random() % 2 == 0 ? 3 : 14)));
      }
      List list;
      for (size_t text = 0; text < texts.size(); text += 2) {
        list.push_back({texts[text], texts[text + 1]});
      }
      const uint32_t set = table.id_of(list);
      const std::string number = std::to_string(i);
      list.push_back({"", number});
      ASSERT_EQ(set, uncached.id_of(list)) << i;
      ASSERT_EQ(table.is_cut(), uncached.is_cut()) << i;
    }
    EXPECT_TRUE(table.is_cut());
    EXPECT_GT(table.keys(), 6);
  }
}

}  // namespace
}  // namespace plimsoll::traces
