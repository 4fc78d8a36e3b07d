// Statements to an address of several hosts, some of which fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "http/address.h"
#include "store/clickhouse/connection.h"
#include "tests/clickhouse/fake_server.h"

namespace plimsoll::store::clickhouse {
namespace {

using plimsoll::testing::answer;
using plimsoll::testing::FakeServer;
using ::testing::HasSubstr;

http::Response read_only() {
  return answer(500, "Code: 242, e.displayText() = DB::Exception: Table is in readonly mode");
}

// Of hosts in this order.
ConnectionOptions options_of(const std::string& first, std::vector<std::string> further) {
  return {.base_url = first, .further_urls = std::move(further), .max_attempts = 2, .first_pause_ns = 1000};
}

// On which nothing listens.
std::string url_of_nothing() {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  return "http://" + (socket ? socket->address : std::string());
}

TEST(ClickHouseHosts, TheNextOneIsAskedWhereOneFailsAndIsRemembered) {
  for (const http::Response& failure :
       {read_only(), answer(500, "Code: 225, e.displayText() = DB::Exception: no ZooKeeper session"),
        answer(500, "Code: 999, e.displayText() = Coordination::Exception: Session expired"),
        answer(500, "Code: 289. DB::Exception: Replica doesn't have part 1_4_4_0 (REPLICA_IS_NOT_IN_QUORUM)"),
        answer(500, "Code: 236. DB::Exception: Server is stopping"),
        answer(500, "Code: 164, e.displayText() = DB::Exception: Replica is not active right now"),
        answer(404, "Code: 60. DB::Exception: Table fleet.rows doesn't exist. (UNKNOWN_TABLE)"),
        answer(404, "Code: 81. DB::Exception: Database fleet doesn't exist"),
        answer(502, "<html>bad gateway</html>")}) {
    SCOPED_TRACE(failure.body);
    FakeServer failing({failure});
    FakeServer sound({answer(200, "1\n")});
    Connection connection(options_of(failing.url(), {sound.url()}));
    for (int question = 0; question < 3; ++question) {
      const auto got = connection.query("SELECT 1");
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_EQ(*got, "1\n");
    }
    EXPECT_EQ(failing.requests().size(), 1);
    EXPECT_EQ(sound.requests().size(), 3);
  }
}

TEST(ClickHouseHosts, OneThatIsGoneIsPassedOver) {
  FakeServer sound({answer(200, "1\n")});
  Connection connection(options_of(url_of_nothing(), {url_of_nothing(), sound.url()}));
  const auto got = connection.query("SELECT 1");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(sound.requests().size(), 1);
}

TEST(ClickHouseHosts, AStatementThatIsRefusedIsNotSentToAnother) {
  for (const http::Response& refusal :
       {answer(400, "Code: 62, e.displayText() = DB::Exception: Syntax error"),
        answer(500, "Code: 241. DB::Exception: Memory limit exceeded"),
        answer(401, "Code: 193, e.displayText() = DB::Exception: Wrong password"),
        answer(500, "Code: 164, e.displayText() = DB::Exception: Cannot insert into table in readonly mode"),
        answer(500, "Code: 252. DB::Exception: Too many parts")}) {
    SCOPED_TRACE(refusal.body);
    FakeServer refusing({refusal});
    FakeServer other({answer(200, "1\n")});
    Connection connection(options_of(refusing.url(), {other.url()}));
    EXPECT_FALSE(connection.query("SELECT 1"));
    EXPECT_TRUE(other.requests().empty());
  }
}

TEST(ClickHouseHosts, WhereAllFailEachIsAskedAsOftenAsOneWouldBeAndTheErrorNamesTheLast) {
  FakeServer first({read_only()});
  FakeServer second({answer(500, "Code: 225. DB::Exception: no ZooKeeper session")});
  Connection connection(options_of(first.url(), {second.url()}));
  const auto got = connection.query("SELECT 1");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr(second.url()));
  EXPECT_THAT(got.error().message, HasSubstr("no ZooKeeper session"));
  EXPECT_EQ(first.requests().size(), 2);
  EXPECT_EQ(second.requests().size(), 2);
}

TEST(ClickHouseHosts, AnInsertIsSentOnceAndTheNextOneToTheNextHost) {
  FakeServer failing({read_only()});
  FakeServer sound({answer(200, "")});
  Connection connection(options_of(failing.url(), {sound.url()}));
  const Status failed = connection.insert("rows", "a", "bytes");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(failed.error().message, HasSubstr(failing.url()));
  EXPECT_TRUE(sound.requests().empty());
  EXPECT_TRUE(connection.insert("rows", "a", "bytes"));
  EXPECT_EQ(failing.requests().size(), 1);
  EXPECT_EQ(sound.requests().size(), 1);
}

TEST(ClickHouseHosts, ABatchKeepsToTheHostThatItBeganWith) {
  FakeServer first({answer(200, ""), read_only()});
  FakeServer second({answer(200, "1\n")});
  Connection connection(options_of(first.url(), {second.url()}));
  {
    const OneHost one_host(connection);
    ASSERT_TRUE(connection.insert("rows", "a", "bytes"));
    const OneHost within(connection);
    EXPECT_FALSE(connection.query("SELECT 1")) << "the other one need not have the rows";
    EXPECT_FALSE(connection.insert("batches", "a", "bytes"));
    EXPECT_TRUE(second.requests().empty());
  }
  const auto got = connection.query("SELECT 1");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(second.requests().size(), 1);
}

TEST(ClickHouseHosts, ABatchBeginsWithAHostThatAnswers) {
  FakeServer failing({read_only()});
  FakeServer sound({answer(200, "1\n")});
  Connection connection(options_of(failing.url(), {sound.url()}));
  const OneHost one_host(connection);
  const auto got = connection.query("SELECT 1");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_TRUE(connection.insert("rows", "a", "bytes"));
  EXPECT_EQ(failing.requests().size(), 1);
  EXPECT_EQ(sound.requests().size(), 2);
}

TEST(ClickHouseHosts, ConnectionsOfAPoolShareWhatTheyFound) {
  FakeServer failing({read_only()});
  FakeServer sound({answer(200, "1\n")});
  ConnectionPool pool(options_of(failing.url(), {sound.url()}));
  ASSERT_TRUE(pool.query("SELECT 1"));
  Connection another = pool.open();
  ASSERT_TRUE(another.insert("rows", "a", "bytes"));
  EXPECT_EQ(failing.requests().size(), 1);
  EXPECT_EQ(sound.requests().size(), 2);
}

TEST(ClickHouseHosts, AHostThatIsLeftIsLeftOnce) {
  HostChoice choice(3);
  choice.leave(0);
  choice.leave(0);
  EXPECT_EQ(choice.current(), 1U);
  choice.leave(2);
  EXPECT_EQ(choice.current(), 1U);
  choice.leave(1);
  choice.leave(2);
  EXPECT_EQ(choice.current(), 0U);
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
