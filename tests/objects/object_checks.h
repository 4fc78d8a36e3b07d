// What every object store does, whatever keeps its objects.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "objects/object_store.h"

namespace plimsoll::testing {

// "KEY BYTES" of those that begin so, sorted.
inline std::vector<std::string> keys_of(objects::ObjectStore& store, const std::string& prefix) {
  auto listed = store.list(prefix);
  EXPECT_TRUE(listed) << listed.error().text();
  std::vector<std::string> keys;
  for (const objects::ObjectInfo& object : listed ? *listed : std::vector<objects::ObjectInfo>()) {
    keys.push_back(fmt::format("{} {}", object.key, object.bytes));
  }
  std::ranges::sort(keys);
  return keys;
}

// The store is empty.
inline void expect_keeps_objects(objects::ObjectStore& store) {
  using ::testing::ElementsAre;
  EXPECT_THAT(keys_of(store, ""), ::testing::IsEmpty());
  const std::string large(3 << 20, 'x');
  ASSERT_TRUE(store.put("files/a-1.b", as_bytes("first")));
  ASSERT_TRUE(store.put("files/a-1.b", as_bytes("second")));
  ASSERT_TRUE(store.put("files/empty", {}));
  ASSERT_TRUE(store.put("other/large", as_bytes(large)));
  EXPECT_EQ(store.get("files/a-1.b", 100).value_or("none"), "second");
  EXPECT_EQ(store.get("files/empty", 0).value_or("none"), "");
  EXPECT_EQ(store.get("other/large", large.size()).value_or("none"), large);
  EXPECT_EQ(store.get("other/large", large.size() - 1).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(store.get("files/none", 1).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(keys_of(store, "files/"), ElementsAre("files/a-1.b 6", "files/empty 0"));
  ASSERT_TRUE(store.remove("files/a-1.b"));
  ASSERT_TRUE(store.remove("files/a-1.b"));
  EXPECT_THAT(keys_of(store, ""), ElementsAre("files/empty 0", "other/large 3145728"));
  for (const char* const key : {"", "/a", "a/", "a//b", "../a", "a/./b", "a b", "a?b"}) {
    EXPECT_EQ(store.put(key, {}).error().code, ErrorCode::kInvalid) << key;
    EXPECT_EQ(store.get(key, 1).error().code, ErrorCode::kInvalid) << key;
  }
}

}  // namespace plimsoll::testing
