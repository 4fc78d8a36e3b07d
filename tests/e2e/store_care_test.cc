// The care of a data directory, as an administrator does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "objects/object_store.h"
#include "proto/profile_codec.h"
#include "store/ingest.h"
#include "tests/e2e/fleet.h"
#include "tests/objects/ceph_server.h"
#include "tests/objects/s3_server.h"
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

// Many names that no compression makes small, so that blocks are sealed while they come. Two functions are of that profile alone.
wire::RawProfile large_profile(uint64_t seed, int64_t from_ns) {
  std::mt19937_64 random(seed);
  std::string names;
  for (int i = 0; i < 600; ++i) {
    names += fmt::format("{}{:016x}{:016x}", i % 100 == 0 ? ";" : "", random(), random());
  }
  return make_profile(
      {.seed = seed,
       .machine = fmt::format("m{}", seed % 3),
       .from_ns = from_ns,
       .job = seed % 2 == 0 ? "db" : "web",
       .labels = fmt::format("shard:{}", seed % 5),
       .stacks = fmt::format("main;own{0} {0}\nmain;half{0} {0}\nthread=io main{1} 1\n", seed, names)});
}

// Uploads, of the time from `from_ns` on, until it is told to stop; and which of them were acknowledged.
class Uploads {
 public:
  Uploads(const TestServer& server, uint64_t first, int64_t from_ns)
      : thread_([this, &server, first, from_ns](const std::stop_token& stop) {
          http::Client client({.base_url = server.fleet_address()});
          for (uint64_t seed = first; !stop.stop_requested(); ++seed) {
            put(client, seed, from_ns);
          }
        }) {}

  void put(http::Client& client, uint64_t seed, int64_t from_ns) {
    const auto response = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile_id(seed)),
                                      wire::encode(large_profile(seed, from_ns)));
    ASSERT_TRUE(response.has_value()) << response.error().text();
    ASSERT_EQ(response->status, 200) << response->body;
    const std::lock_guard lock(mutex_);
    acknowledged_.insert(seed);
  }

  std::set<uint64_t> acknowledged() {
    const std::lock_guard lock(mutex_);
    return acknowledged_;
  }

  void stop() {
    thread_.request_stop();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::set<uint64_t> acknowledged_;  // protected by mutex_
  std::jthread thread_;
};

// What a server says about the time before another, in several ways.
std::string answers_before(const TestServer& server, int64_t time_ns) {
  std::string all;
  for (const char* const by : {"function", "machine", "job", "label:shard", "thread"}) {
    const Finished answer = run({"plimsoll", "top", "--server", server.address(), "--by", by, "--until",
                                 format_time(time_ns), "--limit", "100000", "--json"});
    EXPECT_EQ(answer.status, 0) << answer.err;
    all += answer.out;
  }
  return all;
}

// A server whose disk is lost: what it has copied to that object store, which is empty, brings back the answers.
void expect_comes_back_from(const objects::StoreAddress& address) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  TestServer server(data,
                    fmt::format("[objects]\naddress = \"{}\"\nendpoint = \"{}\"\nregion = \"{}\"\n"
                                "credentials_file = \"{}\"\ninterval = \"1s\"\n",
                                address.address, address.endpoint, address.region, address.credentials_file));
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    put(server, seed);
  }
  wait_for_rows(data, 5);
  const auto before = self_of(top({"--server", server.address()}));
  ASSERT_EQ(before.at("work"), 15);
  const auto store = objects::open_object_store(address);
  ASSERT_TRUE(store) << store.error().text();
  ASSERT_TRUE(eventually(
      [&] {
        const auto manifest = (*store)->get("manifest", 1 << 20);
        return manifest && manifest->contains("packs/0000000000000000001-0000000000000000005 ");
      },
      std::chrono::milliseconds(50)))
      << server.process().err();
  server.crash();
  std::filesystem::remove_all(data);
  std::vector<std::string> restore{"plimsoll",      "store",  "restore",           "--from",
                                   address.address, "--data", folder / "restored", "--region",
                                   address.region};
  if (!address.endpoint.empty()) {
    restore.insert(restore.end(),
                   {"--endpoint", address.endpoint, "--credentials-file", address.credentials_file});
  }
  const Finished restored = run(restore);
  ASSERT_EQ(restored.status, 0) << restored.err;
  EXPECT_THAT(restored.out, HasSubstr("5 raw profiles have no rows yet"));
  TestServer second(folder / "restored");
  ASSERT_TRUE(second.becomes_ready()) << second.process().err();
  wait_for_rows(folder / "restored", 5);
  EXPECT_EQ(self_of(top({"--server", second.address()})), before);
}

TEST(StoreCare, AServerThatLostItsDiskComesBackFromAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "objects");
  expect_comes_back_from({.address = "file://" + (folder / "objects")});
}

TEST(StoreCare, AServerThatLostItsDiskComesBackFromAnS3Server) {
  const TemporaryFolder folder;
  const S3Server server;
  ASSERT_TRUE(S3Server::write_credentials(folder / "credentials"));
  expect_comes_back_from({.address = fmt::format("s3://{}/fleet/a", S3Server::kBucket),
                          .endpoint = server.endpoint(),
                          .region = S3Server::kRegion,
                          .credentials_file = folder / "credentials"});
}

TEST(StoreCare, AServerThatLostItsDiskComesBackFromCeph) {
  if (const std::string missing = CephServer::why_missing(); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  const TemporaryFolder folder;
  CephServer server;
  ASSERT_TRUE(S3Server::write_credentials(folder / "credentials"));
  expect_comes_back_from({.address = fmt::format("s3://{}/fleet/a", server.new_bucket()),
                          .endpoint = server.endpoint(),
                          .region = S3Server::kRegion,
                          .credentials_file = folder / "credentials"});
}

TEST(StoreCare, ABackupTakenUnderLoadAnswersAsTheServerDid) {
  constexpr int64_t kBeforeNs = 1'700'000'000'000'000'000;
  constexpr int64_t kLoadNs = kBeforeNs + 3600 * kNsPerSecond;
  constexpr uint64_t kBefore = 80;
  constexpr uint64_t kOfLoad = 1000;  // first number
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  // Small blocks, so that some are sealed meanwhile, and nothing goes.
  TestServer server(data, "[store]\nmax_block_bytes = \"16MiB\"\n");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  http::Client client({.base_url = server.fleet_address()});
  for (uint64_t seed = 1; seed <= kBefore; ++seed) {
    const auto response = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile_id(seed)),
                                      wire::encode(large_profile(seed, kBeforeNs)));
    ASSERT_TRUE(response && response->status == 200);
  }
  Uploads one(server, kOfLoad, kLoadNs);
  Uploads other(server, 2 * kOfLoad, kLoadNs);
  ASSERT_TRUE(eventually([&] { return one.acknowledged().size() + other.acknowledged().size() >= 20; }));

  std::set<uint64_t> acknowledged = one.acknowledged();
  acknowledged.merge(other.acknowledged());
  const Finished backup = run({"plimsoll", "store", "backup", "--data", data, "--output", folder / "backup"});
  ASSERT_EQ(backup.status, 0) << backup.err;
  ASSERT_TRUE(eventually([&] {
    return one.acknowledged().size() + other.acknowledged().size() > acknowledged.size() + 5;
  })) << "it was under load until the end";
  one.stop();
  other.stop();
  ASSERT_TRUE(eventually([&] { return pending_in(data) == 0; }));
  EXPECT_GT(stored_in(data).accepted, static_cast<int64_t>(kBefore + acknowledged.size()));

  ASSERT_EQ(run({"plimsoll", "store", "restore", "--from", folder / "backup", "--data", folder / "restored"})
                .status,
            0);
  TestServer second(folder / "restored");
  ASSERT_TRUE(second.becomes_ready()) << second.process().err();
  ASSERT_TRUE(eventually([&] { return pending_in(folder / "restored") == 0; }));
  const std::string expected = answers_before(server, kLoadNs);
  ASSERT_THAT(expected, HasSubstr(fmt::format("own{}", kBefore)));
  EXPECT_EQ(answers_before(second, kLoadNs), expected);

  // Of the load, what was acknowledged before is there, and of what came meanwhile each profile as a whole or not at all.
  std::set<uint64_t> restored;
  const auto own =
      self_of(top({"--server", second.address(), "--since", format_time(kLoadNs), "--limit", "1000000"}));
  for (const auto& [function, hits] : own) {
    if (function.starts_with("own")) {
      const uint64_t seed = std::stoull(function.substr(3));
      restored.insert(seed);
      EXPECT_EQ(hits, static_cast<double>(seed));
      EXPECT_EQ(own.at(fmt::format("half{}", seed)), static_cast<double>(seed));
    }
  }
  EXPECT_THAT(restored, ::testing::IsSupersetOf(acknowledged));
  EXPECT_EQ(restored.size() + kBefore, archived_in(folder / "restored").size());
  EXPECT_EQ(run({"plimsoll", "store", "check", "--data", folder / "restored"}).status, 0);
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
                                 HasSubstr("what to do: rebuild the block")));
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

// Three blocks of a profile each, of which the second cannot be read.
TEST(StoreCare, AServerStartsWithoutADamagedBlockWhichIsRebuilt) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  {
    auto ingest = *store::Ingest::open(data, {.block_limits = {.max_profiles = 1}});
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const auto profile =
          make_profile({.seed = seed, .stacks = fmt::format("main;work {}\nmain 2\n", seed)});
      ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(profile)), {}));
      ASSERT_TRUE(ingest->build_pending());
    }
  }
  const std::string catalogue = data + "/blocks/000002/catalogue.db";
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(catalogue + suffix);
  }
  TestServer server(data);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const Finished lacking = run({"plimsoll", "top", "--server", server.address()});
  EXPECT_EQ(lacking.status, 0) << lacking.err;
  EXPECT_THAT(lacking.out + lacking.err, AllOf(HasSubstr("missing from this answer"), HasSubstr(catalogue),
                                               HasSubstr("plimsoll store repair --rebuild")));
  put(server, 4);
  EXPECT_TRUE(eventually([&] { return self_of(top({"--server", server.address()}))["work"] == 1 + 3 + 4; }));
  const Finished status = run({"plimsoll", "status", "--server", server.address()});
  EXPECT_EQ(status.status, 0) << status.out;
  EXPECT_THAT(status.out, AllOf(HasSubstr("damaged blocks"), HasSubstr("000002/catalogue.db")));
  http::Client client({.base_url = server.address()});
  EXPECT_TRUE(eventually([&] {
    const auto ready = client.send("GET", "/readyz");
    return ready && ready->ok() && ready->body.find("without 1 damaged blocks") != std::string::npos;
  }));
  EXPECT_THAT(run({"plimsoll", "store", "status", "--data", data}).out, HasSubstr("damaged"));
  const Finished busy = run({"plimsoll", "store", "repair", "--data", data, "--rebuild", "blocks/2"});
  EXPECT_EQ(busy.status, 1) << "the server has the lock";
  server.stop();

  const Finished rebuilt = run({"plimsoll", "store", "repair", "--data", data, "--rebuild", catalogue});
  EXPECT_EQ(rebuilt.status, 0) << rebuilt.err;
  EXPECT_THAT(rebuilt.out, HasSubstr("rebuilt block 000002: 1 profiles, 2 rows"));
  EXPECT_EQ(run({"plimsoll", "store", "check", "--data", data}).status, 0);
  server.start();
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const Finished whole = run({"plimsoll", "top", "--server", server.address()});
  EXPECT_THAT(whole.out + whole.err, ::testing::Not(HasSubstr("missing from this answer")));
  EXPECT_EQ(self_of(top({"--server", server.address()})).at("work"), 1 + 2 + 3 + 4);
}

TEST(StoreCare, ADamagedBlockIsGivenUp) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  {
    auto ingest = *store::Ingest::open(data, {.block_limits = {.max_profiles = 1}});
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const auto profile = make_profile({.seed = seed, .stacks = fmt::format("main;work {}\n", seed)});
      ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(profile)), {}));
      ASSERT_TRUE(ingest->build_pending());
    }
  }
  std::filesystem::resize_file(data + "/blocks/000001/catalogue.db", 0);
  const Finished sound = run({"plimsoll", "store", "repair", "--data", data, "--forget", "blocks/2"});
  EXPECT_EQ(sound.status, 1);
  EXPECT_THAT(sound.err, HasSubstr("block 000002 is sound"));
  const Finished forgotten = run({"plimsoll", "store", "repair", "--data", data, "--forget", "blocks/1"});
  EXPECT_EQ(forgotten.status, 0) << forgotten.err;
  EXPECT_THAT(forgotten.out, HasSubstr("gave up block 000001: 1 profiles"));
  EXPECT_EQ(run({"plimsoll", "store", "check", "--data", data}).status, 0);
  EXPECT_EQ(self_of(top({"--data", data})).at("work"), 2 + 3);
}

}  // namespace
}  // namespace plimsoll::testing
