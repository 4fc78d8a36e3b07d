// Ingest servers in front of a server: what a daemon sends counts as if it had come directly, and once, whichever of them dies.
//
// PLIMSOLL_TEST_INGEST_DEATHS   how often to kill one (30)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "http/token.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/secured_settings.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

int deaths_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_INGEST_DEATHS");
  return text == nullptr ? 30 : std::atoi(text);  // NOLINT(cert-err34-c)
}

// `plimsoll server --role ingest`. Its addresses stay the same when it is started again.
class IngestServer {
 public:
  // `ca`: where `config` has it speak TLS, the file of the authority of its certificate.
  explicit IngestServer(const std::string& config, std::string ca = {})
      : ca_(std::move(ca)), config_path_(folder_ / "ingest.toml") {
    std::ofstream(config_path_) << config;
    start();
  }

  void start() {
    process_ = std::make_unique<Background>(std::vector<std::string>{"plimsoll", "server", "--role", "ingest",
                                                                     "--config", config_path_, "--listen",
                                                                     health_, "--fleet-listen", daemons_});
  }
  Finished end(int signal_number) {
    process_->kill(signal_number);
    return process_->wait();
  }
  void crash_and_start() {
    end(SIGKILL);
    start();
  }

  unsigned status_of(const std::string& path) const {
    http::Client client({.base_url = scheme() + health_, .credentials = {.ca = ca_}});
    const auto response = client.send("GET", path);
    return response ? response->status : 0;
  }
  bool becomes(unsigned readiness) const {
    const bool is_so = eventually([&] { return status_of("/readyz") == readiness; });
    EXPECT_TRUE(is_so) << process_->err();
    return is_so;
  }
  std::string fleet_address() const { return scheme() + daemons_; }
  std::string health_address() const { return scheme() + health_; }
  const Background& process() const { return *process_; }

 private:
  std::string scheme() const { return ca_.empty() ? "" : "https://"; }

  std::string ca_;
  TemporaryFolder folder_;
  std::string config_path_;
  std::string health_ = free_address();
  std::string daemons_ = free_address();
  std::unique_ptr<Background> process_;
};

std::string registration_of(const std::string& machine) {
  wire::RegisterRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.mutable_machine()->set_id(machine);
  request.mutable_machine()->set_boot_id("boot");
  return request.SerializeAsString();
}

std::string heartbeat_of(const std::string& machine) {
  wire::HeartbeatRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.set_machine_id(machine);
  request.set_boot_id("boot");
  return request.SerializeAsString();
}

class Ingest : public ::testing::Test {
 protected:
  std::string config(const std::string& role) const {
    return settings_.config() + "[ingest]\nserver = \"" + server_.fleet_address() + "\"\nserver_ca = \"" +
           settings_.ca() + "\"\ntoken_file = \"" + settings_.token_file(role) + "\"\n";
  }
  // The machine that this certificate names.
  http::Client machine(const std::string& id, const std::string& address) {
    const IssuedCertificate shown = settings_.machines().issue(id, kForClients);
    return http::Client(
        {.base_url = address,
         .credentials = {.ca = settings_.ca(), .certificate = shown.certificate, .key = shown.key}});
  }
  static unsigned put(http::Client& client, const wire::RawProfile& profile) {
    const auto answer =
        client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
    return answer ? answer->status : 0;
  }
  static unsigned post(http::Client& client, const std::string& path, const std::string& body,
                       const http::Fields& headers = {}) {
    const auto answer = client.send("POST", "/fleet/v1/" + path, body, "application/x-protobuf", headers);
    return answer ? answer->status : 0;
  }
  // "machine m1 PUT /fleet/v1/profiles/ 403", counted.
  std::map<std::string, double> audit() const {
    std::vector<std::string> arguments{"plimsoll", "audit",    "--json",         "--limit",
                                       "1000",     "--server", server_.address()};
    const std::vector<std::string> flags = settings_.flags("admin");
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Finished asked = run(arguments);
    EXPECT_EQ(asked.status, 0) << asked.err;
    std::map<std::string, double> lines;
    const auto table = query::from_json(asked.out);
    for (const Row& row : rows_of(table.value_or(query::Table()))) {
      lines[text(row.at("who")) + " " + text(row.at("request")) + " " + text(row.at("status"))] +=
          number(row.at("count"));
    }
    return lines;
  }

  TemporaryFolder folder_;
  SecuredSettings settings_;
  std::string data_dir_ = folder_ / "data";
  TestServer server_{data_dir_, settings_.config() + "[fleet]\nheartbeat = \"10min\"\n", settings_.ca()};
};

TEST_F(Ingest, DaemonsReachTheServerThroughEitherOfTwo) {
  ASSERT_TRUE(server_.becomes_ready());
  const IngestServer first(config("relay"), settings_.ca());
  const IngestServer second(config("relay"), settings_.ca());
  ASSERT_TRUE(first.becomes(200) && second.becomes(200));
  EXPECT_EQ(first.status_of("/healthz"), 200);
  EXPECT_EQ(first.status_of("/metrics"), 200);
  http::Client m1 = machine("m1", first.fleet_address());
  http::Client m1_again = machine("m1", second.fleet_address());
  EXPECT_EQ(m1.send("GET", "/readyz")->status, 200) << "where a balancer looks";
  EXPECT_EQ(post(m1, "register", registration_of("m1")), 200);
  EXPECT_EQ(post(m1_again, "heartbeat", heartbeat_of("m1")), 200);
  const wire::RawProfile profile = make_profile({.seed = 1, .machine = "m1"});
  EXPECT_EQ(put(m1, profile), 200);
  wire::UploadReply reply;
  const auto repeated =
      m1_again.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
  ASSERT_TRUE(repeated);
  ASSERT_TRUE(reply.ParseFromString(repeated->body)) << repeated->body;
  EXPECT_TRUE(reply.already_known());
  EXPECT_EQ(stored_in(data_dir_).accepted, 1);
  const auto binaries = m1.send("POST", "/fleet/v1/binaries/wanted", "");
  EXPECT_EQ(binaries->status, 404);
  EXPECT_THAT(binaries->body, HasSubstr("the primary's address"));
}

TEST_F(Ingest, WhatIsRefusedDirectlyIsRefusedAndNotedInTheSameWay) {
  ASSERT_TRUE(server_.becomes_ready());
  const IngestServer ingest(config("relay"), settings_.ca());
  ASSERT_TRUE(ingest.becomes(200));
  http::Client m1 = machine("m1", ingest.fleet_address());
  wire::RawProfile own = make_profile({.seed = 1, .machine = "m1"});
  EXPECT_EQ(post(m1, "register", registration_of("m1")), 200);
  EXPECT_EQ(put(m1, own), 200);
  own.mutable_machine()->set_cores(own.machine().cores() + 1);
  EXPECT_EQ(put(m1, own), 409) << "another profile under its name";
  EXPECT_EQ(put(m1, make_profile({.seed = 2, .machine = "m2"})), 403);
  EXPECT_EQ(post(m1, "register", registration_of("m2")), 403);
  EXPECT_EQ(post(m1, "heartbeat", heartbeat_of("m2")), 403);
  EXPECT_EQ(post(m1, "heartbeat", "\xff garbage"), 400);
  http::Client nobody({.base_url = ingest.fleet_address(), .credentials = {.ca = settings_.ca()}});
  EXPECT_EQ(post(nobody, "heartbeat", heartbeat_of("m1")), 401);
  http::Client reader({.base_url = ingest.fleet_address(),
                       .credentials = {.token = settings_.token("read"), .ca = settings_.ca()}});
  EXPECT_EQ(post(reader, "heartbeat", heartbeat_of("m1")), 403);
  const auto log = audit();
  EXPECT_EQ(log.at("machine m1 PUT /fleet/v1/profiles/ 409"), 1);
  EXPECT_EQ(log.at("machine m1 PUT /fleet/v1/profiles/ 403"), 1);
  EXPECT_EQ(log.at("(machines) PUT /fleet/v1/profiles/ 200"), 1);
  EXPECT_EQ(log.at("machine m1 POST /fleet/v1/register 403"), 1);
  EXPECT_EQ(log.at("machine m1 POST /fleet/v1/heartbeat 403"), 1);
  EXPECT_EQ(log.at("unauthenticated POST /fleet/v1/heartbeat 401"), 1);
  EXPECT_EQ(log.at("test-read POST /fleet/v1/heartbeat 403"), 1);
  EXPECT_EQ(stored_in(data_dir_).accepted, 1);
}

TEST_F(Ingest, MachinesEnrolThroughIt) {
  ASSERT_TRUE(server_.becomes_ready());
  const IngestServer ingest(config("relay"), settings_.ca());
  ASSERT_TRUE(ingest.becomes(200));
  const auto with_token = [&](const std::string& token) {
    return http::Client(
        {.base_url = ingest.fleet_address(), .credentials = {.token = token, .ca = settings_.ca()}});
  };
  http::Client m1 = with_token(http::make_token());
  EXPECT_EQ(post(m1, "heartbeat", heartbeat_of("m1")), 401);
  EXPECT_EQ(post(m1, "register", registration_of("m1"), {{http::kEnrolmentHeader, settings_.token("enrol")}}),
            200);
  EXPECT_EQ(post(m1, "heartbeat", heartbeat_of("m1")), 200);
  http::Client thief = with_token(http::make_token());
  EXPECT_EQ(
      post(thief, "register", registration_of("m1"), {{http::kEnrolmentHeader, settings_.token("enrol")}}),
      403);
  EXPECT_EQ(audit().at("test-enrol enrol machine m1 200"), 1);
}

TEST_F(Ingest, NeedsATokenOfItsRole) {
  ASSERT_TRUE(server_.becomes_ready());
  const IngestServer ingest(config("upload"), settings_.ca());
  EXPECT_TRUE(eventually([&] {
    return ingest.process().err().find("test-upload (role upload) may not POST /fleet/v1/relay/machines") !=
           std::string::npos;
  })) << ingest.process().err();
  EXPECT_EQ(ingest.status_of("/readyz"), 503);
  http::Client nobody({.base_url = ingest.fleet_address(), .credentials = {.ca = settings_.ca()}});
  const auto seen_by_strangers = nobody.send("GET", "/readyz");
  ASSERT_TRUE(seen_by_strangers) << seen_by_strangers.error().text();
  EXPECT_EQ(seen_by_strangers->status, 503);
  EXPECT_THAT(seen_by_strangers->body, Not(AnyOf(HasSubstr("test-upload"), HasSubstr("127.0.0.1"))));
  http::Client m1 = machine("m1", ingest.fleet_address());
  EXPECT_EQ(post(m1, "heartbeat", heartbeat_of("m1")), 503) << "it is not the daemon's fault";
}

TEST_F(Ingest, DaemonsKeepTheirsWhileTheServerIsDown) {
  ASSERT_TRUE(server_.becomes_ready());
  const IngestServer ingest(config("relay"), settings_.ca());
  ASSERT_TRUE(ingest.becomes(200));
  http::Client m1 = machine("m1", ingest.fleet_address());
  EXPECT_EQ(post(m1, "register", registration_of("m1")), 200);
  server_.crash();
  const wire::RawProfile profile = make_profile({.seed = 1, .machine = "m1"});
  const auto refused =
      m1.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_GT(http::retry_after_s(*refused), 0);
  EXPECT_THAT(refused->body, HasSubstr("the primary server did not answer"));
  EXPECT_THAT(ingest.process().err(), HasSubstr("the primary does not answer"));
  server_.start();
  ASSERT_TRUE(server_.becomes_ready());
  EXPECT_EQ(put(m1, profile), 200);
  EXPECT_TRUE(ingest.becomes(200));
  EXPECT_EQ(stored_in(data_dir_).accepted, 1);
}

TEST_F(Ingest, EndsAtOnceWhereItIsToldTo) {
  IngestServer ingest(config("relay"), settings_.ca());
  EXPECT_TRUE(eventually([&] { return ingest.status_of("/healthz") == 200; })) << ingest.process().err();
  const Finished stopped = ingest.end(SIGTERM);
  EXPECT_EQ(stopped.status, 0) << stopped.err;
}

TEST(IngestConfiguration, IsRefusedWhereItNamesNoServer) {
  const Finished refused = run({"plimsoll", "server", "--role", "ingest"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("(field: ingest.server)"));
}

TEST(IngestConfiguration, IsRefusedBeyondLoopbackWithoutAToken) {
  const TemporaryFolder folder;
  std::ofstream(folder / "ingest.toml") << "[ingest]\nserver = \"127.0.0.1:7071\"\n";
  const Finished refused = run({"plimsoll", "server", "--role", "ingest", "--config", folder / "ingest.toml",
                                "--fleet-listen", "0.0.0.0:0"});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("server.fleet_listen")));
}

// Sends one profile after another, each as often as it takes, now through one ingest server and now through the other, and sometimes one that
// was acknowledged before. Each has a function of its own.
class Sender {
 public:
  Sender(const std::vector<std::string>& addresses, uint64_t number)
      : random_(number), next_seed_(number * 1'000'000) {
    for (const std::string& address : addresses) {
      clients_.emplace_back(http::ClientOptions{.base_url = address});
    }
  }

  void run(const std::atomic<bool>& is_enough, std::atomic<int>& acknowledged) {
    while (!is_enough && problem_.empty()) {
      const uint64_t seed = ++next_seed_;
      const uint64_t hits = 1 + random_() % 1000;
      const std::string function = fmt::format("work_{}", seed);
      const wire::RawProfile profile =
          make_profile({.seed = seed,
                        .machine = fmt::format("machine-{}", seed % 5),
                        .from_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(seed),
                        .stacks = fmt::format("main;{} {}\n", function, hits)});
      sent_[function] = static_cast<double>(hits);
      paths_.push_back("/fleet/v1/profiles/" + to_hex(profile.profile_id()));
      bodies_.push_back(wire::encode(profile));
      send_until_acknowledged(paths_.size() - 1);
      ++acknowledged;
      if (random_() % 4 == 0 && !send_until_acknowledged(random_() % paths_.size()).already_known()) {
        problem_ = "a profile that was acknowledged is not known any more";
      }
    }
  }

  const std::map<std::string, double>& sent() const { return sent_; }
  const std::string& problem() const { return problem_; }

 private:
  wire::UploadReply send_until_acknowledged(size_t number) {
    wire::UploadReply reply;
    const bool is_acknowledged = eventually([&] {
      const auto response =
          clients_[random_() % clients_.size()].send("PUT", paths_[number], bodies_[number]);
      if (response && response->status == 200) {
        return reply.ParseFromString(response->body);
      }
      if (response && response->status != 503) {
        problem_ = fmt::format("status {}: {}", response->status, response->body);
      }
      return !problem_.empty();
    });
    if (!is_acknowledged) {
      problem_ = "a profile was never acknowledged";
    }
    return reply;
  }

  std::vector<http::Client> clients_;
  std::mt19937_64 random_;
  uint64_t next_seed_;
  std::vector<std::string> paths_;
  std::vector<std::string> bodies_;
  std::map<std::string, double> sent_;  // hits by function
  std::string problem_;
};

TEST(IngestDeaths, LoseNothingAndCountNothingTwice) {
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  TestServer server(data_dir);
  ASSERT_TRUE(server.becomes_ready());
  const std::string config = "[ingest]\nserver = \"" + server.fleet_address() + "\"\n";
  std::vector<std::unique_ptr<IngestServer>> ingests;
  std::vector<std::string> addresses;
  for (int i = 0; i < 2; ++i) {
    ingests.push_back(std::make_unique<IngestServer>(config));
    addresses.push_back(ingests.back()->fleet_address());
    ASSERT_TRUE(ingests.back()->becomes(200));
  }
  std::atomic<bool> is_enough = false;
  std::atomic<int> acknowledged = 0;
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::thread> threads;
  for (uint64_t number = 1; number <= 4; ++number) {
    senders.push_back(std::make_unique<Sender>(addresses, number));
    threads.emplace_back([&, sender = senders.back().get()] { sender->run(is_enough, acknowledged); });
  }
  std::mt19937_64 random(20'261'201);
  bool goes_on = true;
  for (int death = 0; death < deaths_wanted() && goes_on; ++death) {
    // After some profiles, and then at any moment of the next milliseconds.
    const int acknowledged_before = acknowledged;
    const int more = static_cast<int>(random() % 20);
    goes_on =
        eventually([&] { return acknowledged - acknowledged_before >= more; }, std::chrono::microseconds(50));
    const int64_t end_ns = monotonic_now_ns() + static_cast<int64_t>(random() % 20'000'000);
    goes_on =
        goes_on && eventually([=] { return monotonic_now_ns() >= end_ns; }, std::chrono::microseconds(50));
    ingests[random() % ingests.size()]->crash_and_start();
  }
  EXPECT_TRUE(goes_on) << "profiles are acknowledged all the time";
  is_enough = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::map<std::string, double> sent;
  for (const auto& sender : senders) {
    EXPECT_EQ(sender->problem(), "");
    sent.insert(sender->sent().begin(), sender->sent().end());
  }
  ASSERT_EQ(server.stop().status, 0);
  sent.emplace("main", 0);  // calls them all
  const auto counted = self_of(top({"--data", data_dir, "--by", "function", "--limit", "1000000"}));
  EXPECT_TRUE(counted == sent) << "the answer is not what was sent";
  const Stored stored = stored_in(data_dir);
  EXPECT_EQ(stored.accepted, sent.size() - 1);
  EXPECT_EQ(stored.built, stored.accepted);
  std::printf("%zu profiles through two ingest servers that died %d times\n", sent.size() - 1,
              deaths_wanted());
}

TEST(IngestDaemon, SendsThroughIt) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  TestServer server(data_dir, "[fleet]\nheartbeat = \"200ms\"\n[collect]\nwindow = \"200ms\"\n");
  ASSERT_TRUE(server.becomes_ready());
  const IngestServer ingest("[ingest]\nserver = \"" + server.fleet_address() + "\"\n");
  ASSERT_TRUE(ingest.becomes(200));
  std::ofstream(folder / "daemon.toml")
      << "[daemon]\nserver = \"" << ingest.fleet_address() << "\"\n[machine]\nid = \"m1\"\n";
  const Background daemon({"plimsolld", "--config", folder / "daemon.toml"});
  EXPECT_TRUE(eventually([&] { return stored_in(data_dir).accepted > 0; })) << daemon.err();
}

}  // namespace
}  // namespace plimsoll::testing
