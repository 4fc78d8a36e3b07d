// The server as daemons and people meet it: over HTTP, with real daemons on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "base/durable_file.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

std::string config_with_window(const std::string& window) {
  return fmt::format(
      "[collect]\nwindow = \"{}\"\nrate_hz = 199\n[fleet]\nheartbeat = \"200ms\"\n[symbols]\nroots = "
      "[\"{}\"]\n",
      window, built_file());
}

Background start_daemon(const TestServer& server, const std::string& machine = "m1") {
  return Background({"plimsolld", "--server", server.fleet_address(), "--machine-id", machine});
}

// Everything stored in the data directory is in rows, once; the answer has the samples of each profile.
void expect_profiles_counted_once(const std::string& data_dir) {
  const Stored stored = stored_in(data_dir);
  const auto profiles = archived_in(data_dir);
  EXPECT_EQ(stored.accepted, profiles.size());
  EXPECT_EQ(stored.built, stored.accepted);
  EXPECT_THAT(stored.invisible_files, IsEmpty());
  uint64_t hits = 0;
  int64_t previous_end_ns = 0;
  for (const wire::RawProfile& profile : profiles) {
    hits += profile.events(0).hits();
    EXPECT_GE(profile.window().start().monotonic_ns(), previous_end_ns) << "two profiles of the same time";
    previous_end_ns = profile.window().end().monotonic_ns();
  }
  ASSERT_FALSE(profiles.empty());
  const auto table = top(
      {"--data", data_dir, "--event", profiles[0].events(0).name(), "--by", "machine", "--limit", "1000"});
  EXPECT_EQ(table.coverage.samples, hits);
}

class WithDaemon : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }

  // Profiles that the server has accepted so far.
  int64_t accepted() const { return stored_in(data_dir_).accepted; }

  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
};

TEST_F(WithDaemon, ShowsWhatTheMachineDoes) {
  TestServer server(data_dir_, config_with_window("1s"));
  ASSERT_TRUE(server.becomes_ready());
  const Background load({"known_split", "600", "work"});
  Background daemon = start_daemon(server);

  const auto asked = [&](const std::string& by) {
    return std::vector<std::string>{"--server", server.address(), "--where", "app=known_split", "--by", by};
  };
  ASSERT_TRUE(eventually([&] { return self_so_far(asked("function")).contains("seventy_percent_of_work"); }))
      << server.process().err() << daemon.err();
  daemon.kill(SIGTERM);
  const Finished daemon_ended = daemon.wait();
  EXPECT_EQ(daemon_ended.status, 0) << daemon_ended.err;
  // Stopping builds what has arrived: from here on the answers do not change.
  ASSERT_EQ(server.stop().status, 0);
  server.start();
  ASSERT_TRUE(server.becomes_ready());

  EXPECT_THAT(self_of(top(asked("machine"))), Contains(Key("m1")));
  EXPECT_THAT(self_of(top(asked("app"))), Contains(Key("known_split")));
  EXPECT_THAT(self_of(top(asked("thread"))), Contains(Key("known_split")));
  EXPECT_THAT(self_of(top(asked("binary"))), Contains(Key("known_split")));
  const auto by_function = self_of(top(asked("function")));
  EXPECT_GT(by_function.at("seventy_percent_of_work"), by_function.at("twenty_percent_of_work"));

  const auto in_form = [](std::vector<std::string> arguments, const std::string& form) {
    arguments.insert(arguments.begin(), {"plimsoll", "top"});
    if (!form.empty()) {
      arguments.push_back(form);
    }
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  };
  const auto rows = static_cast<int64_t>(top(asked("function")).rows.size());
  EXPECT_GE(rows, 3);
  const std::string csv = in_form(asked("function"), "--csv");
  EXPECT_EQ(std::ranges::count(csv, '\n'), rows + 1);  // and a header
  // What the answer stands on, then its header, the rows, and what their margins are made of.
  const std::string text = in_form(asked("function"), "");
  const std::string table = text.substr(text.find("self_share"));
  EXPECT_EQ(std::ranges::count(table, '\n'), rows + 2) << text;

  std::map<std::string, std::string> answers;
  const std::vector<std::string> dimensions{"machine", "app,thread", "function,file", "binary", "stack"};
  for (const std::string& by : dimensions) {
    answers[by] = in_form(asked(by), "--json");
  }
  ASSERT_EQ(server.stop().status, 0);
  for (const std::string& by : dimensions) {
    EXPECT_EQ(in_form({"--data", data_dir_, "--where", "app=known_split", "--by", by}, "--json"),
              answers[by]);
  }
  expect_profiles_counted_once(data_dir_);
}

TEST_F(WithDaemon, TakesStacksAsTheServerAssignsWithinItsOwnLimits) {
  TestServer server(
      data_dir_,
      "[collect]\nwindow = \"1s\"\nrate_hz = 199\nstack_rate_hz = 150\nstack_bytes = \"32KiB\"\n"
      "[fleet]\nheartbeat = \"200ms\"\n");
  ASSERT_TRUE(server.becomes_ready());
  ASSERT_TRUE(write_file_durably(folder_ / "daemon.toml",
                                 as_bytes("[limits]\nmax_stack_rate_hz = 50\nmax_stack_bytes = \"8KiB\"\n")));
  Background daemon({"plimsolld", "--server", server.fleet_address(), "--machine-id", "m1", "--config",
                     folder_ / "daemon.toml"});
  ASSERT_TRUE(eventually([&] { return accepted() > 0; })) << daemon.err();
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
  ASSERT_EQ(server.stop().status, 0);
  const wire::Assignment assignment = archived_in(data_dir_).at(0).assignment();
  EXPECT_EQ(assignment.rate_hz(), 199);
  EXPECT_EQ(assignment.stack_rate_hz(), 50);
  EXPECT_EQ(assignment.stack_bytes(), 8192);
}

TEST_F(WithDaemon, OutlastsServersThatComeLateAndGo) {
  TestServer server(data_dir_, config_with_window("1s"));
  ASSERT_TRUE(server.becomes_ready());
  ASSERT_EQ(server.stop().status, 0);
  Background daemon = start_daemon(server);
  const auto daemon_says = [&](const std::string& text) {
    return eventually([&] { return daemon.err().find(text) != std::string::npos; });
  };
  ASSERT_TRUE(daemon_says("registering: ")) << daemon.err();  // why it failed
  ASSERT_THAT(daemon.err(), ::testing::Not(HasSubstr("registered as machine m1")));
  server.start();
  ASSERT_TRUE(daemon_says("registered as machine m1")) << daemon.err();
  ASSERT_TRUE(eventually([&] { return accepted() >= 2; })) << daemon.err();

  ASSERT_EQ(server.stop().status, 0);
  const int64_t accepted_before = accepted();
  ASSERT_TRUE(daemon_says("sending a heartbeat: ")) << daemon.err();
  server.start();
  ASSERT_TRUE(eventually([&] { return accepted() >= accepted_before + 2; })) << daemon.err();

  daemon.kill(SIGTERM);
  const Finished ended = daemon.wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  ASSERT_EQ(server.stop().status, 0);
  expect_profiles_counted_once(data_dir_);
}

TEST_F(WithDaemon, SendsTheRunningWindowWhenItIsStopped) {
  TestServer server(data_dir_, config_with_window("8s"));
  Background daemon = start_daemon(server);
  ASSERT_TRUE(server.becomes_ready());
  ASSERT_TRUE(eventually([&] { return accepted() >= 1; })) << daemon.err();
  // The second window runs now, for longer than a busy machine delays what follows.
  daemon.kill(SIGTERM);
  const Finished ended = daemon.wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  ASSERT_EQ(server.stop().status, 0);
  const auto profiles = archived_in(data_dir_);
  ASSERT_EQ(profiles.size(), 2);
  const auto length_ns = [](const wire::RawProfile& profile) {
    return profile.window().end().monotonic_ns() - profile.window().start().monotonic_ns();
  };
  EXPECT_LT(length_ns(profiles[1]), length_ns(profiles[0])) << "it was cut short";
  expect_profiles_counted_once(data_dir_);
}

// The server alone; what a daemon would send is made here.
class ServerAlone : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.becomes_ready()) << server_.process().err(); }

  http::Response post(const std::string& endpoint, const std::string& body) {
    const auto response = fleet_.send("POST", "/fleet/v1/" + endpoint, body);
    EXPECT_TRUE(response.has_value()) << response.error().text();
    return response.value_or(http::Response());
  }

  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
  // A machine counts as live for three heartbeats: for all of the test.
  TestServer server_{data_dir_, "[fleet]\nheartbeat = \"10min\"\n"};
  http::Client fleet_{{.base_url = server_.fleet_address()}};
};

wire::RegisterRequest registration(const std::string& machine, const std::string& boot) {
  wire::RegisterRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.mutable_machine()->set_id(machine);
  request.mutable_machine()->set_boot_id(boot);
  return request;
}

wire::HeartbeatRequest beat(const std::string& machine, const std::string& boot) {
  wire::HeartbeatRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.set_machine_id(machine);
  request.set_boot_id(boot);
  return request;
}

TEST_F(ServerAlone, SaysHowItIs) {
  http::Client people({.base_url = server_.address()});
  for (const char* path : {"/healthz", "/readyz"}) {
    const auto response = people.send("GET", path);
    ASSERT_TRUE(response.has_value()) << response.error().text();
    EXPECT_EQ(response->status, 200) << path;
  }
  const auto unknown = people.send("GET", "/no-such-page");
  ASSERT_TRUE(unknown.has_value()) << unknown.error().text();
  EXPECT_EQ(unknown->status, 404);
}

TEST_F(ServerAlone, StaysTheOnlyOneOnItsData) {
  const Finished second = run({"plimsoll", "server", "--data", data_dir_, "--listen", free_address(),
                               "--fleet-listen", free_address()});
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err,
              AllOf(HasSubstr(data_dir_), HasSubstr(fmt::format("process {}", server_.process().pid()))));
}

TEST_F(ServerAlone, KeepsItsAddressesToItself) {
  const Finished second = run({"plimsoll", "server", "--data", folder_ / "other", "--listen",
                               server_.address(), "--fleet-listen", free_address()});
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr(server_.address()));
}

TEST(Server, ListensOnlyToItsOwnMachine) {
  for (const char* flag : {"--listen", "--fleet-listen"}) {
    const TemporaryFolder folder;
    const Finished refused = run({"plimsoll", "server", "--data", folder / "data", "--listen", free_address(),
                                  "--fleet-listen", free_address(), flag, "0.0.0.0:17070"});
    EXPECT_EQ(refused.status, 1) << flag;
    EXPECT_THAT(refused.err, HasSubstr("0.0.0.0:17070")) << flag;
  }
}

TEST_F(ServerAlone, TellsClonedMachinesApart) {
  EXPECT_EQ(post("register", registration("m1", "boot 1").SerializeAsString()).status, 200);
  EXPECT_EQ(post("register", registration("m1", "boot 1").SerializeAsString()).status, 200);
  EXPECT_EQ(post("register", registration("m2", "boot 2").SerializeAsString()).status, 200);
  const http::Response clone = post("register", registration("m1", "boot 3").SerializeAsString());
  EXPECT_EQ(clone.status, 409);
  EXPECT_THAT(clone.body, AllOf(HasSubstr("m1"), HasSubstr("machine.id")));
}

TEST_F(ServerAlone, HasMachinesItDoesNotKnowRegister) {
  wire::HeartbeatReply reply;
  ASSERT_TRUE(reply.ParseFromString(post("heartbeat", beat("m1", "boot 1").SerializeAsString()).body));
  EXPECT_TRUE(reply.register_again());
  EXPECT_EQ(reply.assignments_size(), 0);
  ASSERT_EQ(post("register", registration("m1", "boot 1").SerializeAsString()).status, 200);
  ASSERT_TRUE(reply.ParseFromString(post("heartbeat", beat("m1", "boot 1").SerializeAsString()).body));
  EXPECT_FALSE(reply.register_again());
  EXPECT_EQ(reply.assignments_size(), 1);
}

TEST_F(ServerAlone, NamesTheVersionsItSpeaks) {
  auto request = registration("m1", "boot 1");
  request.set_format_version(77);
  auto heartbeat = beat("m1", "boot 1");
  heartbeat.set_format_version(77);
  for (const http::Response& refused :
       {post("register", request.SerializeAsString()), post("heartbeat", heartbeat.SerializeAsString())}) {
    EXPECT_EQ(refused.status, 415);
    EXPECT_THAT(
        refused.body,
        AllOf(HasSubstr("version 77"),
              HasSubstr(fmt::format("reads {} to {}", wire::kOldestFormatVersion, wire::kFormatVersion)),
              HasSubstr("format_version")));
  }
}

TEST_F(ServerAlone, RefusesMachinesWithoutAName) {
  EXPECT_EQ(post("register", registration("", "boot 1").SerializeAsString()).status, 400);
  EXPECT_EQ(post("heartbeat", beat("", "boot 1").SerializeAsString()).status, 400);
  const http::Response too_long =
      post("register", registration(std::string(129, 'm'), "boot 1").SerializeAsString());
  EXPECT_EQ(too_long.status, 400);
  EXPECT_THAT(too_long.body, HasSubstr("machine.id"));
}

TEST_F(ServerAlone, RefusesWhatIsNoMessage) {
  std::mt19937_64 random(5);
  for (const char* endpoint : {"register", "heartbeat"}) {
    for (int i = 0; i < 200; ++i) {
      std::string body(random() % 64, '\0');
      std::ranges::generate(body, [&] { return static_cast<char>(random()); });
      // Some random bytes are a message of no version.
      EXPECT_THAT(post(endpoint, body).status, AnyOf(400, 415)) << endpoint << " " << i;
    }
    EXPECT_EQ(post(endpoint, std::string(2 << 20, 'x')).status, 413) << endpoint;
  }
  EXPECT_EQ(post("register", registration("m1", "boot 1").SerializeAsString()).status, 200) << "it lives on";
}

}  // namespace
}  // namespace plimsoll::testing
