#include "store/dictionaries/key_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "store/model/dictionaries.h"

namespace plimsoll::store {
namespace {

// Many enough for a table of several huge pages, which has moved from small ones.
TEST(KeyIndex, FindsWhatWasAddedAndNothingElse) {
  constexpr uint32_t kKeys = 200'000;
  KeyIndex<StackNode> index;
  EXPECT_EQ(index.place_of({1, 1}), nullptr);
  EXPECT_EQ(index.find({1, 1}), 0);
  for (uint32_t id = 1; id <= kKeys; ++id) {
    index.add({id / 7, id}, id);
  }
  for (uint32_t id = 1; id <= kKeys; ++id) {
    ASSERT_EQ(index.find({id / 7, id}), id);
    ASSERT_EQ(index.find({id, id + kKeys}), 0);
  }
  EXPECT_NE(index.place_of({1, 1}), nullptr);
}

// Of few hashes, so that keys stand in each other's places, around the table's end too.
struct CrowdedKey {
  uint64_t number = 0;

  bool operator==(const CrowdedKey&) const = default;
  uint64_t hash() const { return (number % 5 == 0 ? ~uint64_t{0} : number << 61U) | number; }
};

TEST(KeyIndex, HoldsWhatAMapHoldsAfterAnyAddsAndRemovals) {
  std::mt19937_64 random(7);
  KeyIndex<CrowdedKey> index;
  std::map<uint64_t, uint32_t> model;
  index.remove({1});
  for (uint32_t step = 1; step <= 20'000; ++step) {
    const uint64_t number = random() % 64;
    if (!model.contains(number)) {
      index.add({number}, step);
      model.emplace(number, step);
    } else {
      index.remove({number});
      model.erase(number);
    }
    index.remove({100 + number});  // which is not there
    for (uint64_t each = 0; each < 64; ++each) {
      const auto known = model.find(each);
      ASSERT_EQ(index.find({each}), known == model.end() ? 0 : known->second) << "after step " << step;
    }
  }
}

}  // namespace
}  // namespace plimsoll::store
