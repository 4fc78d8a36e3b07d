// The census on its way from heartbeats, made up and real, to `plimsoll machines`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/quota_group.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kProtobuf = "application/x-protobuf";

query::Table machines(const std::vector<std::string>& arguments) {
  return view("machines", arguments);
}

wire::HeartbeatRequest heartbeat() {
  wire::HeartbeatRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.set_machine_id("m1");
  request.set_boot_id("boot");
  request.set_census_ns(2'000'000'000);
  wire::InstanceUsage& usage = *request.add_instances();
  usage.set_job("db");
  usage.set_instance("/db.service");
  usage.set_quota_cpus(1.5);
  usage.set_weight(200);
  usage.set_cpu_time_ns(500'000'000);
  return request;
}

TEST(MachinesOverHttp, ShowWhatAHeartbeatTold) {
  const TemporaryFolder folder;
  TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready());
  http::Client client({.base_url = server.fleet_address()});
  wire::RegisterRequest registration;
  registration.set_format_version(wire::kFormatVersion);
  registration.mutable_machine()->set_id("m1");
  registration.mutable_machine()->set_boot_id("boot");
  registration.mutable_machine()->set_hostname("host1");
  registration.mutable_machine()->set_cores(4);
  ASSERT_TRUE(client.send("POST", "/fleet/v1/register", registration.SerializeAsString(), kProtobuf)->ok());
  ASSERT_TRUE(client.send("POST", "/fleet/v1/heartbeat", heartbeat().SerializeAsString(), kProtobuf)->ok());

  for (const std::vector<std::string>& source :
       {std::vector<std::string>{"--server", server.address()}, {"--data", folder / "data"}}) {
    const auto rows = rows_of(machines(source));
    ASSERT_EQ(rows.size(), 1);
    EXPECT_EQ(text(rows[0].at("machine")), "m1");
    EXPECT_EQ(text(rows[0].at("hostname")), "host1");
    EXPECT_EQ(text(rows[0].at("state")), "live");
    EXPECT_EQ(number(rows[0].at("cores")), 4);
    EXPECT_EQ(number(rows[0].at("instances")), 1);
    EXPECT_EQ(number(rows[0].at("cpu_quota")), 1.5);
    EXPECT_EQ(number(rows[0].at("cpu_used")), 0.25);
    auto by_instance = source;
    by_instance.insert(by_instance.end(), {"--by", "instance"});
    const auto instances = rows_of(machines(by_instance));
    ASSERT_EQ(instances.size(), 1);
    EXPECT_EQ(text(instances[0].at("job")), "db");
    EXPECT_EQ(text(instances[0].at("instance")), "/db.service");
    EXPECT_EQ(number(instances[0].at("weight")), 200);
    EXPECT_EQ(number(instances[0].at("cpu_used")), 0.25);
    auto jobs = std::vector<std::string>{"plimsoll", "jobs", "--csv"};
    jobs.insert(jobs.end(), source.begin(), source.end());
    EXPECT_THAT(run(jobs).out, HasSubstr("\r\ndb,1,1,1.5,0,0.25,1\r\n"));
  }

  wire::HeartbeatRequest nonsense = heartbeat();
  nonsense.mutable_instances(0)->set_quota_cpus(-1);
  const auto refused = client.send("POST", "/fleet/v1/heartbeat", nonsense.SerializeAsString(), kProtobuf);
  EXPECT_EQ(refused->status, 400);
  EXPECT_THAT(refused->body, HasSubstr("instances[0].quota_cpus"));
  const Finished text_form = run({"plimsoll", "machines", "--server", server.address()});
  EXPECT_THAT(text_form.out, HasSubstr("host1"));
  const Finished wrong = run({"plimsoll", "machines", "--server", server.address(), "--by", "app"});
  EXPECT_EQ(wrong.status, 2);
}

TEST(MachinesOverHttp, AreMergedWithTheInventoryAsItChanges) {
  const TemporaryFolder folder;
  const std::string inventory = folder / "inventory.csv";
  std::ofstream(inventory) << "machine,datacenter,rack,owner\nm1,fra,r7,ads\nm2,fra,r8,search\n";
  TestServer server(folder / "data", "[inventory]\nmachines = \"" + inventory + "\"\ninterval = \"1s\"\n");
  ASSERT_TRUE(server.becomes_ready());
  http::Client client({.base_url = server.fleet_address()});
  wire::RegisterRequest registration;
  registration.set_format_version(wire::kFormatVersion);
  registration.mutable_machine()->set_id("m1");
  registration.mutable_machine()->set_boot_id("boot");
  registration.mutable_machine()->set_datacenter("unknown");
  ASSERT_TRUE(client.send("POST", "/fleet/v1/register", registration.SerializeAsString(), kProtobuf)->ok());
  const auto lines = [&] {
    std::vector<std::string> shown;
    for (const Row& row : rows_of(machines({"--server", server.address()}))) {
      shown.push_back(text(row.at("machine")) + " " + text(row.at("state")) + " " +
                      text(row.at("datacenter")) + " " + text(row.at("rack")) + " " + text(row.at("owner")));
    }
    return shown;
  };
  EXPECT_EQ(lines(), (std::vector<std::string>{"m1 live fra r7 ads", "m2 unheard fra r8 search"}));
  std::ofstream(inventory) << "[{\"machine\": \"m1\", \"datacenter\": \"ams\", \"rack\": \"r9\"}]\n";
  EXPECT_TRUE(eventually([&] { return lines() == std::vector<std::string>{"m1 live ams r9 "}; },
                         std::chrono::milliseconds(100)));
  std::ofstream(inventory) << "nonsense\n";
  EXPECT_TRUE(eventually(
      [&] { return server.process().err().find("keeping the previous inventory") != std::string::npos; }));
  EXPECT_EQ(lines().size(), 1);
  EXPECT_EQ(server.stop().status, 0);
  std::ofstream(folder / "server.toml") << "[inventory]\nmachines = \"" << inventory << "\"\n";
  const Finished refused =
      run({"plimsoll", "server", "--data", folder / "data", "--config", folder / "server.toml", "--listen",
           "127.0.0.1:0", "--fleet-listen", "127.0.0.1:0"});
  EXPECT_NE(refused.status, 0) << "nobody starts with a wrong inventory unawares";
  EXPECT_THAT(refused.err, HasSubstr("inventory.machines"));
}

TEST(Census, OfThisMachineIsPlausible) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const TemporaryFolder folder;
  TestServer server(folder / "data", "[fleet]\nheartbeat = \"1s\"\n[collect]\nrate_hz = 1\n");
  ASSERT_TRUE(server.becomes_ready());
  const QuotaGroup group("census", 50);
  Background load(group.is_made() ? group.busy("600")
                                  : std::vector<std::string>{"known_split", "600", "work"});
  Background daemon({"plimsolld", "--server", server.fleet_address(), "--machine-id", "m1"});
  const std::vector<std::string> asked{"--server", server.address(), "--by", "instance"};
  const auto has_times = [&] {
    const auto rows = rows_of(machines(asked));
    return !rows.empty() && std::holds_alternative<double>(rows[0].at("cpu_used"));
  };
  ASSERT_TRUE(eventually(has_times, std::chrono::milliseconds(100))) << daemon.err();

  const auto instances = rows_of(machines(asked));
  double used = 0;
  for (const Row& row : instances) {
    used += number(row.at("cpu_used"));
  }
  const auto cores = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  std::printf("%zu instances used %.3f of %.0f CPUs\n", instances.size(), used, cores);
  EXPECT_LE(used, cores * 1.1);
  EXPECT_GT(used, 0.2) << "known_split was running all the time";
  if (group.is_made()) {
    const auto ours =
        std::ranges::find_if(instances, [](const Row& row) { return text(row.at("job")) == "known_split"; });
    ASSERT_NE(ours, instances.end());
    EXPECT_EQ(number(ours->at("cpu_quota")), 0.5);
    EXPECT_LE(number(ours->at("cpu_used")), 0.6);
    std::printf("known_split: %.3f CPUs of 0.5\n", number(ours->at("cpu_used")));
  }
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
  load.kill(SIGKILL);
  load.wait();
}

}  // namespace
}  // namespace plimsoll::testing
