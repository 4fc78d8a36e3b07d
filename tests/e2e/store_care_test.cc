// The care of a data directory, as an administrator does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/hex.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void put(const TestServer& server, uint64_t seed) {
  http::Client client({.base_url = server.fleet_address()});
  const auto profile = make_profile({.seed = seed, .stacks = fmt::format("main;work {}\nmain 2\n", seed)});
  const auto response =
      client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile_id(seed)), wire::encode(profile));
  ASSERT_TRUE(response.has_value()) << response.error().text();
  ASSERT_EQ(response->status, 200) << response->body;
}

void wait_for_rows(const std::string& data_dir, int64_t profiles) {
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir).built == profiles; }));
}

TEST(StoreCare, ABackupOfARunningServerIsRestored) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  TestServer server(data);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    put(server, seed);
  }
  wait_for_rows(data, 5);
  const auto before = self_of(top({"--server", server.address()}));
  ASSERT_EQ(before.at("work"), 15);
  const Finished backup = run({"plimsoll", "store", "backup", "--data", data, "--output", folder / "backup"});
  ASSERT_EQ(backup.status, 0) << backup.err;
  EXPECT_THAT(backup.out, AllOf(StartsWith("backed up to "), HasSubstr("5 raw profiles")));
  EXPECT_EQ(backup.err, "") << "progress is for terminals";
  put(server, 6);
  wait_for_rows(data, 6);
  EXPECT_EQ(self_of(top({"--server", server.address()})).at("work"), 21);

  EXPECT_EQ(self_of(top({"--data", folder / "backup"})), before) << "views read a backup";
  const Finished restored =
      run({"plimsoll", "store", "restore", "--from", folder / "backup", "--data", folder / "restored"});
  ASSERT_EQ(restored.status, 0) << restored.err;
  EXPECT_THAT(restored.out, HasSubstr("plimsoll server --data " + folder / "restored"));
  TestServer second(folder / "restored");
  ASSERT_TRUE(second.becomes_ready()) << second.process().err();
  EXPECT_EQ(self_of(top({"--server", second.address()})), before);
  put(second, 6);
  wait_for_rows(folder / "restored", 6);
  EXPECT_EQ(self_of(top({"--server", second.address()})).at("work"), 21) << "it goes on";

  const Finished refused =
      run({"plimsoll", "store", "restore", "--from", folder / "backup", "--data", folder / "restored"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("exists, and is no empty folder"));
}

TEST(StoreCare, ACheckSaysWhatIsDamagedAndWhatToDo) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  TestServer server(data);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  put(server, 1);
  wait_for_rows(data, 1);
  const Finished healthy = run({"plimsoll", "store", "check", "--data", data});
  EXPECT_EQ(healthy.status, 0) << healthy.err;
  EXPECT_THAT(healthy.out,
              AllOf(StartsWith("checked 5 databases, 1 blocks, 1 segments of 2 rows, 1 raw profiles"),
                    EndsWith("no damage\n")));
  EXPECT_EQ(server.stop().status, 0);
  {
    const std::string path = data + "/blocks/000001/segments/000000000001.rows";
    std::fstream segment(path, std::ios::in | std::ios::out | std::ios::binary);
    segment.seekp(150);
    segment.put('?');
  }
  const Finished damaged = run({"plimsoll", "store", "check", "--data", data});
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.out, AllOf(StartsWith("damage: blocks/000001/segments/000000000001.rows: "),
                                 HasSubstr("what to do: restore the block from a backup")));
  EXPECT_THAT(damaged.err, HasSubstr(data + " is damaged: 1 findings"));
  const auto table = query::from_json(run({"plimsoll", "store", "check", "--data", data, "--json"}).out);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(text(rows_of(*table).at(0).at("file")), "blocks/000001/segments/000000000001.rows");
  const Finished refused =
      run({"plimsoll", "store", "backup", "--data", data, "--output", folder / "backup"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr(data + " is damaged: blocks/000001/segments/000000000001.rows"));
  EXPECT_FALSE(std::filesystem::exists(folder / "backup"));
}

// The server of before was ready, and showed nothing of what it acknowledged.
TEST(StoreCare, AServerDoesNotStartWithoutItsDatabases) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  TestServer server(data);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  put(server, 1);
  wait_for_rows(data, 1);
  EXPECT_EQ(server.stop().status, 0);
  for (const std::string name :
       {"archive.db", "access.db", "draws.db", "live.db", "blocks/000001/catalogue.db"}) {
    SCOPED_TRACE(name);
    std::filesystem::rename(data + "/" + name, folder / "kept");
    const Finished ended = run(
        {"plimsoll", "server", "--data", data, "--listen", free_address(), "--fleet-listen", free_address()});
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr(data + "/" + name + " is missing"), HasSubstr("plimsoll store restore")));
    EXPECT_FALSE(std::filesystem::exists(data + "/" + name));
    std::filesystem::rename(folder / "kept", data + "/" + name);
  }
  std::filesystem::remove(data + "/live.db");
  const Finished repaired = run({"plimsoll", "store", "repair", "--data", data, "--forget", "live.db"});
  EXPECT_EQ(repaired.status, 0) << repaired.err;
  server.start();
  EXPECT_TRUE(server.becomes_ready()) << server.process().err();
}

}  // namespace
}  // namespace plimsoll::testing
