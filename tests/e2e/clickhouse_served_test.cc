// A server whose rows are in ClickHouse: it answers as one does whose rows are in its data directory, whatever ends either of the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "store/identity/directory_identity.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kFromNs = 1'700'000'000'000'000'000;
constexpr int64_t kMinuteNs = int64_t{60} * 1'000'000'000;

// Of three machines and two jobs, a minute after the one before; labels, threads, inlined functions.
wire::RawProfile profile_of(uint64_t seed) {
  return make_profile({.seed = seed,
                       .machine = fmt::format("m{}", seed % 3),
                       .from_ns = kFromNs + static_cast<int64_t>(seed) * kMinuteNs,
                       .events = {{.name = "cycles"}, {.name = "faults"}},
                       .process = seed % 2 == 0 ? "web" : "db",
                       .job = seed % 2 == 0 ? "shop" : "store",
                       .stacks = fmt::format("main;parse;lex@lex.cc:12 {}\n"
                                             "thread=io labels=request:read main;outer>inner {}\n"
                                             "event=faults main;work_{} {}\n",
                                             1 + seed % 7, 2 + seed % 5, seed % 4, 1 + seed % 3)});
}

class ServedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = ClickHouseServer::why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    clickhouse_ = std::make_unique<ClickHouseServer>();
    const store::clickhouse::ConnectionOptions database = clickhouse_->new_database();
    const std::string url = database.base_url.substr(std::string("http://").size());
    address_ = fmt::format("clickhouse://{}@{}/{}", database.user, url, database.database);
    password_file_ = folder_ / "password";
    const Finished written = run({"/bin/sh", "-c", "umask 077; printf '%s\\n' \"$1\" > \"$2\"", "sh",
                                  database.password, password_file_});
    ASSERT_EQ(written.status, 0) << written.err;
    config_ = fmt::format("[store]\naddress = \"{}\"\npassword_file = \"{}\"\n", address_, password_file_);
  }

  // Until it is accepted.
  static void send(const TestServer& server, const wire::RawProfile& profile) {
    http::Client client({.base_url = server.fleet_address()});
    const bool accepted = eventually([&] {
      const auto response =
          client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
      return response && response->status == 200;
    });
    ASSERT_TRUE(accepted);
  }

  // Of all machines, once so many profiles are rows: each has hits in `main`.
  static std::map<std::string, double> by_machine(const std::vector<std::string>& where, double hits) {
    std::map<std::string, double> self;
    EXPECT_TRUE(eventually([&] {
      std::vector<std::string> arguments = where;
      arguments.insert(arguments.end(), {"--by", "machine", "--event", "cycles"});
      self = self_so_far(arguments);
      double sum = 0;
      for (const auto& [machine, value] : self) {
        sum += value;
      }
      return sum == hits;
    })) << "not all rows are there";
    return self;
  }

  static double hits_of(uint64_t from, uint64_t to) {
    double hits = 0;
    for (uint64_t seed = from; seed <= to; ++seed) {
      hits += static_cast<double>(1 + seed % 7 + 2 + seed % 5);
    }
    return hits;
  }

  TemporaryFolder folder_;
  std::unique_ptr<ClickHouseServer> clickhouse_;
  std::string address_;
  std::string password_file_;
  std::string config_;
};

// Ten views of what was uploaded.
const std::vector<std::vector<std::string>>& questions() {
  static const std::string middle = "2023-11-14T22:19:20Z";
  static const std::vector<std::vector<std::string>> all{
      {"top", "--by", "function", "--event", "cycles"},
      {"top", "--by", "job,thread,label:request", "--event", "cycles"},
      {"top", "--by", "file,line", "--event", "cycles", "--where", "job=shop"},
      {"top", "--by", "machine", "--event", "faults", "--since", middle},
      {"flame", "--event", "cycles"},
      {"callers", "lex", "--event", "cycles"},
      {"series", "--by", "job", "--event", "cycles", "--every", "1m"},
      {"diff", "--by", "function", "--event", "cycles", "--where", "job=shop", "--baseline-where",
       "job=store"},
      {"jobs"},
      {"machines"}};
  return all;
}

Finished answer(const TestServer& server, const std::vector<std::string>& question) {
  std::vector<std::string> command{"plimsoll"};
  command.insert(command.end(), question.begin(), question.end());
  command.insert(command.end(), {"--server", server.address(), "--csv"});
  return run(command);
}

TEST_F(ServedTest, AnswersAreThoseOfADataDirectory) {
  TestServer in_clickhouse(folder_ / "elsewhere", config_);
  TestServer in_directory(folder_ / "here");
  ASSERT_TRUE(in_clickhouse.becomes_ready() && in_directory.becomes_ready())
      << in_clickhouse.process().err() << in_directory.process().err();
  constexpr uint64_t kProfiles = 12;
  for (uint64_t seed = 1; seed <= kProfiles; ++seed) {
    ASSERT_NO_FATAL_FAILURE(send(in_clickhouse, profile_of(seed)));
    ASSERT_NO_FATAL_FAILURE(send(in_directory, profile_of(seed)));
  }
  for (const TestServer* server : {&in_clickhouse, &in_directory}) {
    by_machine({"--server", server->address()}, hits_of(1, kProfiles));
  }
  for (const std::vector<std::string>& question : questions()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(question, " ")));
    const Finished expected = answer(in_directory, question);
    const Finished answered = answer(in_clickhouse, question);
    EXPECT_EQ(expected.status, answered.status) << answered.err;
    EXPECT_EQ(answered.out, expected.out);
  }
  // Beside the server, from the directory alone.
  EXPECT_EQ(by_machine({"--data", folder_ / "elsewhere"}, hits_of(1, kProfiles)),
            by_machine({"--data", folder_ / "here"}, hits_of(1, kProfiles)));
}

TEST_F(ServedTest, WhatEndsEitherOfThemLosesAndDoublesNothing) {
  TestServer server(folder_ / "data", config_);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  uint64_t seed = 0;
  const auto send_some = [&] {
    for (int i = 0; i < 4; ++i) {
      send(server, profile_of(++seed));
    }
  };
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    ASSERT_NO_FATAL_FAILURE(send_some());
    if (round % 2 == 0) {
      clickhouse_->kill();
      ASSERT_NO_FATAL_FAILURE(send_some());
      EXPECT_TRUE(eventually([&] {
        http::Client client({.base_url = server.address()});
        const auto ready = client.send("GET", "/readyz");
        return ready && ready->status == 503 && ready->body.find("rows") != std::string::npos;
      })) << "it is ready without its rows";
      clickhouse_->start();
    } else {
      EXPECT_EQ(server.crash().status, 128 + SIGKILL);
      server.start();
      ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    }
    const auto self = by_machine({"--server", server.address()}, hits_of(1, seed));
    EXPECT_EQ(self.size(), 3U);
  }
}

// The copy in the object store is older than the rows: what came in between has rows, and no raw profile any more.
TEST_F(ServedTest, ADirectoryThatWasLostComesBackFromItsObjectsAndGoesOnWithTheRows) {
  const std::string data = folder_ / "data";
  const std::string objects = folder_ / "objects";
  const std::string older = folder_ / "older";
  std::filesystem::create_directory(objects);
  const auto with_objects = [&](const std::string& folder) {
    return fmt::format("{}[objects]\naddress = \"file://{}\"\ninterval = \"1s\"\n", config_, folder);
  };
  const auto has_pack = [](const std::string& folder, int first, int last) {
    const auto manifest = read_file(folder + "/manifest", 1 << 20);
    return manifest && manifest->contains(fmt::format("packs/{:019}-{:019} ", first, last));
  };
  const auto restore = [&](const std::string& folder) {
    std::filesystem::remove_all(data);
    return run({"plimsoll", "store", "restore", "--from", "file://" + folder, "--data", data});
  };
  std::string id;
  std::vector<std::string> expected;
  {
    TestServer server(data, with_objects(objects));
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      ASSERT_NO_FATAL_FAILURE(send(server, profile_of(seed)));
    }
    by_machine({"--server", server.address()}, hits_of(1, 6));
    ASSERT_TRUE(eventually([&] { return has_pack(objects, 1, 6); })) << server.process().err();
    std::filesystem::copy(objects, older, std::filesystem::copy_options::recursive);
    for (uint64_t seed = 7; seed <= 12; ++seed) {
      ASSERT_NO_FATAL_FAILURE(send(server, profile_of(seed)));
    }
    by_machine({"--server", server.address()}, hits_of(1, 12));
    for (const std::vector<std::string>& question : questions()) {
      expected.push_back(answer(server, question).out);
    }
    id = store::read_identity(data)->id;
    server.crash();
  }
  const Finished restored = restore(older);
  ASSERT_EQ(restored.status, 0) << restored.err;
  EXPECT_THAT(restored.out, AllOf(HasSubstr("6 raw profiles"), HasSubstr("its rows are in " + address_),
                                  Not(HasSubstr("have no rows yet"))));
  EXPECT_EQ(store::read_identity(data)->id, id);
  EXPECT_EQ(store::read_identity(data)->rows.address, address_);
  {
    // The address of the rows is known.
    TestServer server(data, fmt::format("[objects]\naddress = \"file://{}\"\ninterval = \"1s\"\n", older));
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    for (size_t place = 0; place < questions().size(); ++place) {
      SCOPED_TRACE(fmt::format("{}", fmt::join(questions()[place], " ")));
      EXPECT_EQ(answer(server, questions()[place]).out, expected[place]);
    }
    // Daemons send again what they have spooled; rows are built in this order.
    for (uint64_t seed = 4; seed <= 15; ++seed) {
      ASSERT_NO_FATAL_FAILURE(send(server, profile_of(seed)));
    }
    by_machine({"--server", server.address()}, hits_of(1, 15));
    ASSERT_TRUE(eventually([&] { return has_pack(older, 1, 15); })) << server.process().err();
    const Finished checked = run({"plimsoll", "store", "check", "--data", data});
    EXPECT_EQ(checked.status, 0) << checked.out;
    server.crash();
  }
  // Once more: the profiles 7 to 12 are in no copy.
  const Finished again = restore(older);
  ASSERT_EQ(again.status, 0) << again.err;
  TestServer server(data);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    ASSERT_NO_FATAL_FAILURE(send(server, profile_of(seed)));
  }
  by_machine({"--server", server.address()}, hits_of(1, 16));
}

// As where files of a stopped server were copied by other tools.
TEST_F(ServedTest, AnOlderArchiveIsNoDirectoryOfNewerRows) {
  const std::string data = folder_ / "data";
  const std::string older = folder_ / "older";
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    TestServer server(data, config_);
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    ASSERT_NO_FATAL_FAILURE(send(server, profile_of(seed)));
    by_machine({"--server", server.address()}, hits_of(1, seed));
    server.stop();
    if (seed == 1) {
      std::filesystem::copy(data, older, std::filesystem::copy_options::recursive);
    }
  }
  std::ofstream(folder_ / "older.toml") << config_;
  const Finished refused = run({"plimsoll", "server", "--data", older, "--listen", free_address(),
                                "--fleet-listen", free_address(), "--config", folder_ / "older.toml"});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("archive.db is older than the rows in " + address_),
                                 HasSubstr("plimsoll store restore")));
  const Finished restored =
      run({"plimsoll", "store", "restore", "--from", older, "--data", folder_ / "restored"});
  ASSERT_EQ(restored.status, 0) << restored.err;
  TestServer server(folder_ / "restored", config_);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ASSERT_NO_FATAL_FAILURE(send(server, profile_of(seed)));
  }
  by_machine({"--server", server.address()}, hits_of(1, 3));
}

TEST_F(ServedTest, AShardThatIsAddedChangesNoAnswer) {
  const std::string data = folder_ / "data";
  const store::clickhouse::ConnectionOptions second = clickhouse_->new_database();
  const std::string shard_address =
      fmt::format("clickhouse://{}@{}/{}", second.user, second.base_url.substr(std::string("http://").size()),
                  second.database);
  TestServer in_directory(folder_ / "here");
  ASSERT_TRUE(in_directory.becomes_ready()) << in_directory.process().err();
  constexpr uint64_t kBefore = 6;
  constexpr uint64_t kProfiles = 18;
  std::map<std::string, double> before;
  {
    TestServer alone(data, config_);
    ASSERT_TRUE(alone.becomes_ready()) << alone.process().err();
    for (uint64_t seed = 1; seed <= kBefore; ++seed) {
      ASSERT_NO_FATAL_FAILURE(send(alone, profile_of(seed)));
      ASSERT_NO_FATAL_FAILURE(send(in_directory, profile_of(seed)));
    }
    before = by_machine({"--server", alone.address()}, hits_of(1, kBefore));
    alone.stop();
  }
  const std::string with_shard = fmt::format("{}shards = [\"{}\"]\n", config_, shard_address);
  {
    TestServer both(data, with_shard);
    ASSERT_TRUE(both.becomes_ready()) << both.process().err();
    EXPECT_EQ(by_machine({"--server", both.address()}, hits_of(1, kBefore)), before);
    for (uint64_t seed = kBefore + 1; seed <= kProfiles; ++seed) {
      // Of many machines, so that either database gets some.
      wire::RawProfile profile = profile_of(seed);
      profile.mutable_machine()->set_id(fmt::format("m{}", seed));
      ASSERT_NO_FATAL_FAILURE(send(both, profile));
      ASSERT_NO_FATAL_FAILURE(send(in_directory, profile));
    }
    const std::vector<std::string> from_server{"--server", both.address()};
    EXPECT_EQ(by_machine(from_server, hits_of(1, kProfiles)),
              by_machine({"--server", in_directory.address()}, hits_of(1, kProfiles)));
    for (const std::string by : {"function", "job,thread,label:request", "file,line"}) {
      const auto answer = [&](const TestServer& server) {
        return run({"plimsoll", "top", "--by", by, "--event", "cycles", "--server", server.address(),
                    "--csv"})
            .out;
      };
      EXPECT_EQ(answer(both), answer(in_directory)) << by;
    }
    store::clickhouse::Connection connection(second);
    EXPECT_NE(connection.query("SELECT count() FROM rows").value_or("0\n"), "0\n") << "it was given no rows";
    both.stop();
  }
  // The directory knows its shards, with a server and without.
  EXPECT_EQ(by_machine({"--data", data}, hits_of(1, kProfiles)),
            by_machine({"--data", folder_ / "here"}, hits_of(1, kProfiles)));
  std::ofstream(folder_ / "fewer.toml") << config_;
  const Finished fewer = run({"plimsoll", "server", "--data", data, "--listen", free_address(),
                              "--fleet-listen", free_address(), "--config", folder_ / "fewer.toml"});
  EXPECT_NE(fewer.status, 0);
  EXPECT_THAT(fewer.err, AllOf(HasSubstr("shard 1 of the rows"), HasSubstr("store.shards")));
  TestServer known(data);
  ASSERT_TRUE(known.becomes_ready()) << known.process().err();
  by_machine({"--server", known.address()}, hits_of(1, kProfiles));
}

TEST_F(ServedTest, ADirectoryKeepsItsRowsWhereTheyAre) {
  const std::string elsewhere = folder_ / "elsewhere";
  {
    TestServer server(elsewhere, config_);
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    ASSERT_NO_FATAL_FAILURE(send(server, profile_of(1)));
    by_machine({"--server", server.address()}, hits_of(1, 1));
    server.stop();
  }
  const auto refused = [&](const std::string& data, const std::string& address) {
    return run({"plimsoll", "server", "--data", data, "--listen", free_address(), "--fleet-listen",
                free_address(), "--store", address});
  };
  const Finished other = refused(elsewhere, "clickhouse://127.0.0.1:1/other");
  EXPECT_NE(other.status, 0);
  EXPECT_THAT(other.err, AllOf(HasSubstr("the rows of"), HasSubstr(address_)));

  // Without the address it is known all the same.
  TestServer again(elsewhere);
  ASSERT_TRUE(again.becomes_ready()) << again.process().err();
  EXPECT_EQ(by_machine({"--server", again.address()}, hits_of(1, 1)).size(), 1U);

  const std::string here = folder_ / "here";
  {
    TestServer server(here);
    ASSERT_TRUE(server.becomes_ready()) << server.process().err();
    ASSERT_NO_FATAL_FAILURE(send(server, profile_of(2)));
    by_machine({"--server", server.address()}, hits_of(2, 2));
    server.stop();
  }
  const Finished has_rows = refused(here, address_);
  EXPECT_NE(has_rows.status, 0);
  EXPECT_THAT(has_rows.err, HasSubstr("has rows of its own"));
  // The database of one directory is no other's.
  std::ofstream(folder_ / "third.toml") << config_;
  const Finished third = run({"plimsoll", "server", "--data", folder_ / "third", "--listen", free_address(),
                              "--fleet-listen", free_address(), "--config", folder_ / "third.toml"});
  EXPECT_NE(third.status, 0);
  EXPECT_THAT(third.err, HasSubstr("has the rows of the data directory with the ID"));
}

}  // namespace
}  // namespace plimsoll::testing
