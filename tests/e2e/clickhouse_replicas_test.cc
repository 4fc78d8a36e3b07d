// A server whose rows are on two replicas of ClickHouse, either of which SIGKILL ends at any moment: it loses nothing, and both have each profile
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/schema.h"
#include "tests/clickhouse/replica_pair.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using store::clickhouse::Connection;
using store::clickhouse::ConnectionOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kFromNs = 1'700'000'000'000'000'000;

uint64_t hits_of(uint64_t seed) {
  return 1 + seed % 7;
}

double hits_of_all(uint64_t from, uint64_t to) {
  double hits = 0;
  for (uint64_t seed = from; seed <= to; ++seed) {
    hits += static_cast<double>(hits_of(seed));
  }
  return hits;
}

wire::RawProfile profile_of(uint64_t seed) {
  return make_profile({.seed = seed,
                       .machine = fmt::format("m{}", seed % 3),
                       .from_ns = kFromNs + static_cast<int64_t>(seed),
                       .job = "shop",
                       .stacks = fmt::format("main;work_{} {}\n", seed, hits_of(seed))});
}

class Replicas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = ReplicaPair::why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    replicas_ = std::make_unique<ReplicaPair>();
    ASSERT_TRUE(replicas_->become_ready()) << "ClickHouse does not reach ZooKeeper";
    database_ = replicas_->new_database();
    const std::string password_file = folder_ / "password";
    const Finished written = run({"/bin/sh", "-c", "umask 077; printf '%s\\n' \"$1\" > \"$2\"", "sh",
                                  database_.password, password_file});
    ASSERT_EQ(written.status, 0) << written.err;
    const auto host = [](const std::string& url) { return url.substr(std::string("http://").size()); };
    address_ = fmt::format("clickhouse://{}@{},{}/{}", database_.user, host(database_.base_url),
                           host(database_.further_urls.at(0)), database_.database);
    password_file_ = password_file;
    config_ = fmt::format("[store]\naddress = \"{}\"\npassword_file = \"{}\"\nreplicated = true\n", address_,
                          password_file);
  }

  // Until they are accepted.
  void send(const TestServer& server, int profiles) {
    http::Client client({.base_url = server.fleet_address()});
    for (int i = 0; i < profiles; ++i) {
      const wire::RawProfile profile = profile_of(++sent_);
      const bool accepted = eventually([&] {
        const auto response =
            client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
        return response && response->status == 200;
      });
      ASSERT_TRUE(accepted) << "an upload waits for ClickHouse";
    }
  }

  // Once all profiles that were sent are rows.
  void expect_sums(std::vector<std::string> where) const {
    where.insert(where.end(), {"--by", "job", "--event", "cycles"});
    const std::map<std::string, double> expected{{"shop", hits_of_all(1, sent_)}};
    std::map<std::string, double> counted;
    eventually(
        [&] {
          counted = self_so_far(where);
          return counted == expected;
        },
        std::chrono::milliseconds(100));
    EXPECT_EQ(counted, expected);
  }

  // On each replica by itself: hits, profiles and different profiles of the committed batches.
  void expect_each_profile_once_on_both() const {
    for (const ConnectionOptions& replica : store::clickhouse::each_host(database_)) {
      SCOPED_TRACE(replica.base_url);
      const std::string expected = fmt::format("{:.0f} {} {}", hits_of_all(1, sent_), sent_, sent_);
      std::string counted;
      eventually(
          [&] {
            counted = counts_on(replica);
            return counted == expected;
          },
          std::chrono::milliseconds(100));
      EXPECT_EQ(counted, expected);
    }
  }

  static std::string answer_of(const ConnectionOptions& replica, const std::string& sql) {
    Connection connection(replica);
    auto answer = connection.query(sql + " FORMAT TabSeparated");
    if (!answer) {
      return answer.error().text();
    }
    return answer->substr(0, answer->find('\n'));
  }

  static std::string counts_on(const ConnectionOptions& replica) {
    Connection connection(replica);
    const auto marks = store::clickhouse::read_marks(connection);
    const auto epochs = marks ? store::clickhouse::committed_among(*marks) : propagate(marks);
    if (!epochs) {
      return epochs.error().text();
    }
    std::string committed;
    for (const auto& [number, epoch] : *epochs) {
      committed += fmt::format("{}({})", committed.empty() ? "" : " OR ", epoch.condition());
    }
    const std::string where = committed.empty() ? "0" : committed;
    return answer_of(replica, "SELECT sum(hits) FROM rows WHERE " + where) + " " +
           answer_of(replica, "SELECT count() FROM origins WHERE " + where) + " " +
           answer_of(replica, "SELECT uniqExact(profile_id) FROM origins WHERE " + where);
  }

  TemporaryFolder folder_;
  std::unique_ptr<ReplicaPair> replicas_;
  ConnectionOptions database_;
  std::string address_;
  std::string password_file_;
  std::string config_;
  uint64_t sent_ = 0;
};

TEST_F(Replicas, OneThatIsKilledAndComesBackLosesAndDoublesNothing) {
  const std::string data = folder_ / "data";
  TestServer server(data, config_);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  ASSERT_NO_FATAL_FAILURE(send(server, 4));
  expect_sums({"--server", server.address()});
  for (size_t round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    ClickHouseServer& victim = (*replicas_)[round % 2];
    ASSERT_NO_FATAL_FAILURE(send(server, 3));
    if (round >= 2) {
      // In the middle of a batch, or soon after one.
      expect_sums({"--server", server.address()});
      ASSERT_NO_FATAL_FAILURE(send(server, 2));
    }
    victim.kill();
    ASSERT_NO_FATAL_FAILURE(send(server, 3));
    ASSERT_NO_FATAL_FAILURE(victim.start());
    expect_sums({"--server", server.address()});
    expect_each_profile_once_on_both();
  }
  const Finished stopped = server.stop();
  EXPECT_EQ(stopped.status, 0) << stopped.err;
  // By the address and the quorum that the directory has noted.
  expect_sums({"--data", data});
}

TEST_F(Replicas, QuestionsAreAnsweredWhileOneIsGone) {
  TestServer server(folder_ / "data", config_);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  ASSERT_NO_FATAL_FAILURE(send(server, 5));
  expect_sums({"--server", server.address()});
  for (size_t replica = 0; replica < 2; ++replica) {
    SCOPED_TRACE(replica);
    (*replicas_)[replica].kill();
    expect_sums({"--server", server.address()});
    expect_sums({"--data", folder_ / "data"});
    ASSERT_NO_FATAL_FAILURE((*replicas_)[replica].start());
  }
}

TEST_F(Replicas, AnEpochIsDroppedFromBoth) {
  {
    TestServer server(folder_ / "data", config_);
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    ASSERT_NO_FATAL_FAILURE(send(server, 2));
    expect_sums({"--server", server.address()});
    server.stop();
  }
  // By the one that need not be the leader of the tables.
  ConnectionOptions turned = database_;
  std::swap(turned.base_url, turned.further_urls.at(0));
  Connection connection(turned);
  const Status dropped = store::clickhouse::drop_epoch(connection, turned, 1);
  ASSERT_TRUE(dropped) << dropped.error().text();
  for (const ConnectionOptions& replica : store::clickhouse::each_host(database_)) {
    for (const std::string table : {"batches", "rows", "origins"}) {
      SCOPED_TRACE(replica.base_url + " " + table);
      EXPECT_TRUE(eventually([&] { return answer_of(replica, "SELECT count() FROM " + table) == "0"; }));
    }
  }
}

TEST_F(Replicas, RowsAreCopiedThereAndBack) {
  const std::string data = folder_ / "data";
  {
    TestServer server(data);
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    ASSERT_NO_FATAL_FAILURE(send(server, 6));
    expect_sums({"--server", server.address()});
    server.stop();
  }
  const Finished there = run({"plimsoll", "store", "copy", "--data", data, "--to", address_,
                              "--password-file", password_file_, "--replicated"});
  ASSERT_EQ(there.status, 0) << there.err;
  expect_sums({"--data", data});
  expect_each_profile_once_on_both();
  const Finished back = run({"plimsoll", "store", "copy", "--data", data, "--to", "directory", "--remove"});
  ASSERT_EQ(back.status, 0) << back.err;
  expect_sums({"--data", data});
  for (const ConnectionOptions& replica : store::clickhouse::each_host(database_)) {
    EXPECT_EQ(answer_of(replica, fmt::format("SELECT count() FROM system.tables WHERE database = '{}'",
                                             database_.database)),
              "0");
  }
}

TEST_F(Replicas, TablesThatAreNotReplicatedAreRefusedWithWhatToDo) {
  for (ConnectionOptions single : store::clickhouse::each_host(database_)) {
    single.insert_quorum = 0;
    Connection connection(single);
    const Status prepared = store::clickhouse::prepare_tables(connection);
    ASSERT_TRUE(prepared) << prepared.error().text();
  }
  const TestServer server(folder_ / "data", config_);
  EXPECT_TRUE(eventually([&] {
    return server.process().err().find("plimsoll store copy --replicated") != std::string::npos;
  })) << server.process().err();
  EXPECT_THAT(server.process().err(), AllOf(HasSubstr(database_.database), HasSubstr("are not replicated")));
}

}  // namespace
}  // namespace plimsoll::testing
