// Whose rows a query server reads.
#include "store/replica/followed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/hex.h"
#include "http/listener.h"
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

// A ClickHouse that says whose rows it has, whatever it is asked.
class Owner {
 public:
  explicit Owner(char id, std::function<void()> when_asked = {}) {
    http::Route route{.method = "POST", .path = "/", .max_body_bytes = 1UL << 20};
    route.handle = [id, when_asked = std::move(when_asked)](const http::Request&) {
      if (when_asked) {
        when_asked();
      }
      const std::string owner = to_hex(std::string(16, id));
      return http::Response{.content_type = "text/plain", .body = static_cast<char>(owner.size()) + owner};
    };
    auto started = http::Listener::start({.head_rules = {.allow_simple_types = true}}, {std::move(route)});
    EXPECT_TRUE(started) << started.error().text();
    listener_ = *std::move(started);
  }
  std::string address() const { return "clickhouse://" + listener_->address() + "/plimsoll"; }

 private:
  std::unique_ptr<http::Listener> listener_;
};

TEST_F(FollowedRowsTest, ThatMoveWhileTheyAreCheckedAreCheckedAgain) {
  FollowedRows rows(folder_.path());
  const Owner foreign('b');
  const Owner own('a', [&] { EXPECT_TRUE(rows.settle(identity('a', foreign.address()))); });
  ASSERT_TRUE(rows.settle(identity('a', own.address())));
  const auto moved = rows.newest(all_times());
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::kConflict) << moved.error().text();
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
