#include "store/rows/key_index.h"

#include <gtest/gtest.h>

#include "store/rows/dictionaries.h"

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

}  // namespace
}  // namespace plimsoll::store
