// Whose rows a query server reads.
#include "store/replica/followed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace plimsoll::store::followed_rows_test {
namespace {

using ::testing::HasSubstr;

class FollowedRowsTest : public ::testing::Test {
 protected:
  static DirectoryIdentity identity(char id, const std::string& address = "clickhouse://127.0.0.1/plimsoll") {
    return {.id = std::string(16, id), .rows = {.address = address}};
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(FollowedRowsTest, AreAskedForOnceTheyAreKnown) {
  FollowedRows rows(folder_.path());
  const auto early = rows.newest(all_times());
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(early.error().hint, HasSubstr("primary.server"));
  EXPECT_EQ(rows.last_read_ns(), 0);
}

TEST_F(FollowedRowsTest, AreOfOneDirectoryForGood) {
  FollowedRows rows(folder_.path());
  ASSERT_TRUE(rows.settle(identity('a')));
  EXPECT_TRUE(rows.settle(identity('a')));
  EXPECT_TRUE(rows.settle(identity('a', "clickhouse://127.0.0.1/moved"))) << "its rows may move";
  EXPECT_EQ(read_identity(folder_.path())->rows.address, "clickhouse://127.0.0.1/moved");
  const Status other = rows.settle(identity('b'));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  // Also of the next process.
  EXPECT_FALSE(FollowedRows(folder_.path()).settle(identity('b')));
}

TEST_F(FollowedRowsTest, CannotBeInTheDirectory) {
  FollowedRows rows(folder_.path());
  const Status here = rows.settle(identity('a', ""));
  ASSERT_FALSE(here);
  EXPECT_EQ(here.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(here.error().hint, HasSubstr("plimsoll store copy"));
}

}  // namespace
}  // namespace plimsoll::store::followed_rows_test
