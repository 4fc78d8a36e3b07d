// A second server on the data directory of a primary: it takes over when the primary has ended, and never from one that lives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "sqlite/database.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::chrono::milliseconds kBetween{50};

// A draw every three seconds.
constexpr const char* kConfig = R"toml(
[draw]
interval = "3s"
percent = 100
max_percent_per_job = 100
max_percent_per_platform = 100
max_overhead_percent = 100
stop_percent = 100
min_per_stratum = 1
late_after = "2s"
event_sets = ["cpu-clock"]
[collect]
window = "200ms"
[fleet]
heartbeat = "200ms"
)toml";

class Standby : public ::testing::Test {
 protected:
  std::unique_ptr<TestServer> start_standby() const {
    return std::make_unique<TestServer>(data_dir_, kConfig, "", std::vector<std::string>{"--standby"});
  }

  // Status 0: it does not answer.
  static http::Response get(const TestServer& server, const std::string& path) {
    http::Client client({.base_url = server.address()});
    return client.send("GET", path).value_or(http::Response{.status = 0});
  }
  static bool is_ready(const TestServer& server) { return get(server, "/readyz").status == 200; }
  // Whether it waits, and names that process.
  static bool waits_for(const TestServer& standby, pid_t primary) {
    const http::Response answer = get(standby, "/readyz");
    return answer.status == 503 &&
           answer.body.find(fmt::format("is being written by process {}", primary)) != std::string::npos;
  }
  static int64_t looks_of(const TestServer& standby) {
    constexpr std::string_view kName = "\nplimsoll_standby_looks_total ";
    const std::string text = get(standby, "/metrics").body;
    const size_t at = text.find(kName);
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + kName.size()));
  }

  static void upload(const TestServer& server, uint64_t seed) {
    const auto profile = make_profile({.seed = seed,
                                       .from_ns = wall_now_ns() - 60 * kNsPerSecond,
                                       .stacks = fmt::format("main;work{} 7\n", seed)});
    http::Client client({.base_url = server.fleet_address()});
    const auto sent = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()),
                                  wire::encode(profile), kProtobuf);
    ASSERT_TRUE(sent) << sent.error().text();
    ASSERT_TRUE(sent->ok()) << sent->body;
  }
  static bool shows(const TestServer& server, const std::string& function) {
    const auto self = self_so_far({"--server", server.address(), "--event", "cycles"});
    const auto found = self.find(function);
    return found != self.end() && found->second == 7;
  }

  // Of one machine, as its daemon sends it.
  static void register_machine(const TestServer& server) {
    wire::RegisterRequest registration;
    registration.set_format_version(wire::kFormatVersion);
    registration.mutable_machine()->set_id("m1");
    registration.mutable_machine()->set_boot_id("boot");
    registration.mutable_machine()->set_cores(4);
    http::Client client({.base_url = server.fleet_address()});
    const auto sent = client.send("POST", "/fleet/v1/register", registration.SerializeAsString(), kProtobuf);
    ASSERT_TRUE(sent && sent->ok()) << server.process().err();
  }
  static void send_heartbeat(const TestServer& server) {
    wire::HeartbeatRequest heartbeat;
    heartbeat.set_format_version(wire::kFormatVersion);
    heartbeat.set_machine_id("m1");
    heartbeat.set_boot_id("boot");
    http::Client client({.base_url = server.fleet_address()});
    (void)client.send("POST", "/fleet/v1/heartbeat", heartbeat.SerializeAsString(), kProtobuf);
  }
  int64_t draws() const {
    auto database = sqlite::Database::open(data_dir_ + "/draws.db", sqlite::OpenMode::kRead);
    return database ? database->integer("SELECT count(*) FROM draw", 0).value_or(0) : 0;
  }
  // That the server draws, of the machine whose heartbeats it gets meanwhile.
  bool draws_go_on(const TestServer& server) const {
    const int64_t before = draws();
    return eventually(
        [&] {
          send_heartbeat(server);
          return draws() > before;
        },
        kBetween);
  }

  TemporaryFolder folder_;
  const std::string data_dir_ = folder_ / "data";
};

TEST_F(Standby, TakesOverWhatAKilledPrimaryHadAccepted) {
  TestServer primary(data_dir_, kConfig);
  ASSERT_TRUE(primary.becomes_ready());
  const auto standby = start_standby();
  const pid_t first = primary.process().pid();
  ASSERT_TRUE(eventually([&] { return waits_for(*standby, first); }, kBetween)) << standby->process().err();
  EXPECT_EQ(get(*standby, "/healthz").status, 200);
  EXPECT_EQ(get(*standby, "/api/v1/machines").status, 404);
  register_machine(primary);
  EXPECT_TRUE(draws_go_on(primary));
  upload(primary, 1);
  primary.crash();
  ASSERT_TRUE(standby->becomes_ready());
  EXPECT_TRUE(eventually([&] { return shows(*standby, "work1"); }, kBetween));
  upload(*standby, 2);
  EXPECT_TRUE(eventually([&] { return shows(*standby, "work2"); }, kBetween));
  EXPECT_TRUE(draws_go_on(*standby)) << standby->process().err();
  EXPECT_EQ(standby->stop().status, 0);
}

TEST_F(Standby, WaitsForAPrimaryThatIsPaused) {
  TestServer primary(data_dir_, kConfig);
  ASSERT_TRUE(primary.becomes_ready());
  const auto standby = start_standby();
  const pid_t first = primary.process().pid();
  ASSERT_TRUE(eventually([&] { return waits_for(*standby, first); }, kBetween)) << standby->process().err();
  register_machine(primary);
  primary.process().kill(SIGSTOP);
  const int64_t before = looks_of(*standby);
  ASSERT_TRUE(eventually([&] { return looks_of(*standby) >= before + 3; }, kBetween));
  EXPECT_TRUE(waits_for(*standby, first));
  primary.process().kill(SIGCONT);
  ASSERT_TRUE(primary.becomes_ready());
  EXPECT_TRUE(draws_go_on(primary));
  EXPECT_TRUE(waits_for(*standby, first));
  // One that is stopped hands over at once, too.
  EXPECT_EQ(primary.stop().status, 0);
  EXPECT_TRUE(standby->becomes_ready());
}

TEST_F(Standby, OfTwoOneTakesOverAndTheOtherWaitsForIt) {
  TestServer primary(data_dir_, kConfig);
  ASSERT_TRUE(primary.becomes_ready());
  const auto one = start_standby();
  const auto other = start_standby();
  const pid_t first = primary.process().pid();
  ASSERT_TRUE(eventually([&] { return waits_for(*one, first) && waits_for(*other, first); }, kBetween));
  primary.crash();
  ASSERT_TRUE(eventually([&] { return is_ready(*one) != is_ready(*other); }, kBetween))
      << one->process().err() << other->process().err();
  const bool is_one = is_ready(*one);
  const TestServer& taken = is_one ? *one : *other;
  const TestServer& waiting = is_one ? *other : *one;
  EXPECT_TRUE(eventually([&] { return waits_for(waiting, taken.process().pid()); }, kBetween))
      << waiting.process().err();
  EXPECT_TRUE(is_ready(taken));
}

TEST_F(Standby, EndsWhenItIsStopped) {
  TestServer primary(data_dir_, kConfig);
  ASSERT_TRUE(primary.becomes_ready());
  const auto standby = start_standby();
  ASSERT_TRUE(eventually([&] { return waits_for(*standby, primary.process().pid()); }, kBetween));
  const Finished stopped = standby->stop();
  EXPECT_EQ(stopped.status, 0) << stopped.err;
  EXPECT_TRUE(is_ready(primary));
}

// A file system that loses locks, as one over a network may, lets a second server open the directory. The first one ends.
TEST_F(Standby, AServerWhoseLockIsLostEndsOnceAnotherOneHasTakenOver) {
  const std::string address = free_address();
  Background first(
      {"plimsoll", "server", "--data", data_dir_, "--listen", address, "--fleet-listen", free_address()});
  http::Client client({.base_url = address});
  ASSERT_TRUE(eventually(
      [&] {
        const auto answer = client.send("GET", "/readyz");
        return answer && answer->ok();
      },
      kBetween))
      << first.err();
  std::filesystem::remove(data_dir_ + "/lock");
  TestServer second(data_dir_, kConfig);
  ASSERT_TRUE(second.becomes_ready());
  const Finished ended = first.wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("another server has taken over"));
  EXPECT_THAT(ended.err, HasSubstr(fmt::format("process {} on ", second.process().pid())));
  register_machine(second);
  EXPECT_TRUE(draws_go_on(second));
}

}  // namespace
}  // namespace plimsoll::testing
