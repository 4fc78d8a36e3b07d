#include "store/live/fleet_history.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "store/live/live_machines.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/machine_to_register.h"
#include "tests/unit/store/placed_jobs.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kHeartbeatNs = 20;

wire::InstanceUsage usage(const std::string& job, const std::string& instance, double quota_cpus) {
  wire::InstanceUsage made;
  made.set_job(job);
  made.set_instance(instance);
  made.set_quota_cpus(quota_cpus);
  return made;
}

// "m1 4 CPUs live rack=r1 owner= lacks=cycles; db 2/1 1.5": instances, without a quota, and CPUs of each job.
std::string line_of(const LiveMachine& machine, const PlacedJobs& jobs, size_t number, int64_t now_ns) {
  std::string line = fmt::format(
      "{} {} CPUs {}{}{}{}{}{}", machine.attributes.id(), machine.attributes.cores(),
      machine.first_seen_ns == 0 ? "unheard"
      : machine.is_live(now_ns)  ? "live"
                                 : "gone",
      machine.rack.empty() ? "" : " rack=" + machine.rack,
      machine.attributes.datacenter().empty() ? "" : " datacenter=" + machine.attributes.datacenter(),
      machine.owner.empty() ? "" : " owner=" + machine.owner,
      machine.missing_events.empty() ? "" : " lacks=", fmt::join(machine.missing_events, "+"));
  for (const PlacedJob& placed : jobs.of(number)) {
    line += fmt::format("; {} {}/{} {}", jobs.name(placed.job), placed.instances, placed.unlimited,
                        placed.quota_cpus);
  }
  return line;
}

class FleetHistoryTest : public ::testing::Test {
 protected:
  std::vector<std::string> at(int64_t time_ns) {
    std::vector<std::string> lines;
    const auto fleet = machines_.fleet_at(time_ns);
    EXPECT_TRUE(fleet) << fleet.error().text();
    for (size_t number = 0; fleet && number < fleet->machines.size(); ++number) {
      lines.push_back(line_of(fleet->machines[number], fleet->jobs, number, time_ns));
    }
    return lines;
  }
  // The same of the present, by what else tells of it.
  std::vector<std::string> now(int64_t now_ns) {
    std::map<std::string, std::vector<JobPlacement>> jobs;
    const auto censuses = machines_.censuses();
    for (const Census& census : censuses.value()) {
      jobs[census.machine_id] = placements_of(census.instances);
    }
    std::vector<std::string> lines;
    const auto machines = machines_.machines();
    for (const LiveMachine& m : machines.value()) {
      lines.push_back(line_of(m, plimsoll::testing::placed_jobs({jobs[m.attributes.id()]}), 0, now_ns));
    }
    return lines;
  }
  void run(const std::string& sql) {
    ASSERT_TRUE(sqlite::Database::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite)->run(sql));
  }
  int64_t rows_of(const std::string& table) {
    return *sqlite::Database::open(folder_ / "live.db", sqlite::OpenMode::kRead)
                ->integer("SELECT count(*) FROM " + table, -1);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  LiveMachines machines_ = *LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite);
};

TEST_F(FleetHistoryTest, MachinesAreWhatTheyWere) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot-a", 4), 100, kHeartbeatNs));
  ASSERT_TRUE(machines_.register_machine(machine("m2", "boot-x", 2), 150, kHeartbeatNs));
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot-b", 4), 300, kHeartbeatNs));
  ASSERT_TRUE(
      machines_.register_machine(machine("m1", "boot-c", 8), 400, kHeartbeatNs, {"llc-misses", "cycles"}));
  EXPECT_THAT(at(99), IsEmpty());
  EXPECT_THAT(at(100), ElementsAre("m1 4 CPUs live"));
  EXPECT_THAT(at(399), ElementsAre("m1 4 CPUs gone", "m2 2 CPUs gone"));
  EXPECT_THAT(at(400), ElementsAre("m1 8 CPUs live lacks=cycles+llc-misses", "m2 2 CPUs gone"));
  EXPECT_EQ(rows_of("machine_version"), 3) << "a reboot alone is no version";
}

TEST_F(FleetHistoryTest, WhoWasSilentForThreeHeartbeatsWasGone) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, kHeartbeatNs));
  ASSERT_EQ(machines_.machine_seen("m1", "boot", 159, kHeartbeatNs), true);  // one was lost
  ASSERT_EQ(machines_.machine_seen("m1", "boot", 300, 1000), true);          // told to be heard of less often
  ASSERT_EQ(machines_.machine_seen("m1", "other", 310, 1000), false);        // not a sign of it
  EXPECT_THAT(at(158), ElementsAre("m1 4 CPUs live"));
  EXPECT_THAT(at(159 + 3 * kHeartbeatNs - 1), ElementsAre("m1 4 CPUs live"));
  EXPECT_THAT(at(159 + 3 * kHeartbeatNs), ElementsAre("m1 4 CPUs gone"));
  EXPECT_THAT(at(299), ElementsAre("m1 4 CPUs gone"));
  EXPECT_THAT(at(300), ElementsAre("m1 4 CPUs live"));
  EXPECT_EQ(rows_of("silence"), 1);
}

TEST_F(FleetHistoryTest, JobsHadTheQuotasOfThen) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, 1000));
  ASSERT_TRUE(machines_.keep_census(
      {"m1", 100, 10, {usage("db", "a", 1), usage("db", "b", 0), usage("web", "c", 2)}}));
  ASSERT_TRUE(machines_.keep_census(
      {"m1", 200, 10, {usage("web", "d", 2), usage("db", "a", 1), usage("db", "e", 0)}}));
  ASSERT_TRUE(machines_.keep_census({"m1", 300, 10, {usage("db", "a", 1.5)}}));
  EXPECT_THAT(at(199), ElementsAre("m1 4 CPUs live; db 2/1 1; web 1/0 2"));
  EXPECT_THAT(at(299), ElementsAre("m1 4 CPUs live; db 2/1 1; web 1/0 2"));
  EXPECT_THAT(at(300), ElementsAre("m1 4 CPUs live; db 1/0 1.5"));
  EXPECT_EQ(rows_of("past_placement"), 2) << "other instances of as many, with as much, are no change";
  // What a cluster manager says holds, from when it was read.
  ASSERT_TRUE(machines_.keep_inventory_instances({{"m1", "db", "", 4}, {"m1", "mail", "", 1}}, 400));
  ASSERT_TRUE(machines_.keep_census({"m1", 410, 10, {usage("db", "a", 1.5)}}));
  ASSERT_TRUE(machines_.keep_inventory_instances({{"m1", "db", "", 5}}, 500));
  EXPECT_THAT(at(399), ElementsAre("m1 4 CPUs live; db 1/0 1.5"));
  EXPECT_THAT(at(499), ElementsAre("m1 4 CPUs live; db 1/0 4; mail 1/0 1"));
  EXPECT_THAT(at(500), ElementsAre("m1 4 CPUs live; db 1/0 5"));
}

TEST_F(FleetHistoryTest, AClockThatWasSetBackMakesNoJobTwo) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 10, 1000));
  ASSERT_TRUE(machines_.keep_census({"m1", 10, 10, {usage("db", "a", 1)}}));
  ASSERT_TRUE(machines_.keep_census({"m1", 100, 10, {usage("db", "a", 2)}}));
  ASSERT_TRUE(machines_.keep_census({"m1", 60, 10, {usage("db", "a", 3)}}));
  EXPECT_THAT(at(59), ElementsAre("m1 4 CPUs live; db 1/0 1"));
  EXPECT_THAT(at(70), ElementsAre("m1 4 CPUs live; db 1/0 3"));
}

TEST_F(FleetHistoryTest, TheInventoryWasThatOfThen) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, 1000));
  ASSERT_TRUE(machines_.keep_inventory({{.id = "m1", .rack = "r1"}, {.id = "m2", .datacenter = "fra"}}, 200));
  ASSERT_TRUE(machines_.keep_inventory({{.id = "m1", .rack = "r2", .owner = "ads"}}, 300));
  EXPECT_THAT(at(199), ElementsAre("m1 4 CPUs live"));
  EXPECT_THAT(at(200), ElementsAre("m1 4 CPUs live rack=r1", "m2 0 CPUs unheard datacenter=fra"));
  EXPECT_THAT(at(300), ElementsAre("m1 4 CPUs live rack=r2 owner=ads"));
}

TEST_F(FleetHistoryTest, WhoLivedWhenTheServerWentAwayMayComeBack) {
  constexpr int64_t kMinute = 60'000'000'000;
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 1 * kMinute, kMinute));
  ASSERT_TRUE(machines_.register_machine(machine("m2", "boot"), 10 * kMinute, kMinute));
  ASSERT_TRUE(machines_.note_server_start(30 * kMinute));
  ASSERT_EQ(machines_.machine_seen("m2", "boot", 34 * kMinute, kMinute), true);
  const auto there = [&](int64_t time_ns) {
    std::string ids;
    const auto fleet = machines_.fleet_at(time_ns);
    for (const LiveMachine& m : fleet->machines) {
      ids += fleet->is_there(m) ? m.attributes.id() : "";
    }
    return ids;
  };
  EXPECT_EQ(there(29 * kMinute), "") << "nobody was heard of";
  EXPECT_EQ(there(31 * kMinute), "m2") << "m1 was gone before";
  EXPECT_EQ(there(34 * kMinute), "m2");
  EXPECT_EQ(there(38 * kMinute), "") << "and gone again";
}

TEST_F(FleetHistoryTest, WhatIsOverIsForgottenInTime) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot", 1), 100, kHeartbeatNs));
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot", 2), 200, kHeartbeatNs, {"cycles"}));
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot", 3), 300, kHeartbeatNs, {"branches"}));
  for (const int64_t time_ns : {100, 200, 300}) {
    ASSERT_TRUE(machines_.keep_census({"m1", time_ns, 10, {usage("db", "a", static_cast<double>(time_ns))}}));
    ASSERT_TRUE(machines_.keep_inventory({{.id = "m1", .rack = fmt::format("r{}", time_ns)}}, time_ns));
    ASSERT_TRUE(machines_.note_server_start(time_ns));
  }
  ASSERT_TRUE(machines_.keep_inventory({}, 350));
  const std::vector<std::string> before = at(260);
  EXPECT_THAT(before, ElementsAre("m1 2 CPUs gone rack=r200 lacks=cycles; db 1/0 200"));
  ASSERT_TRUE(machines_.forget_history(250));
  EXPECT_EQ(at(260), before);
  EXPECT_THAT(at(400), ElementsAre("m1 3 CPUs gone lacks=branches; db 1/0 300"));
  EXPECT_EQ(machines_.fleet_at(249).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(rows_of("machine_version"), 2);
  EXPECT_EQ(rows_of("past_placement"), 1);
  EXPECT_EQ(rows_of("server_start"), 2);
  ASSERT_TRUE(machines_.forget_history(1000));
  EXPECT_THAT(at(1000), ElementsAre("m1 3 CPUs gone lacks=branches; db 1/0 300"));
  for (const std::string table : {"machine_version", "missing_version", "server_start"}) {
    EXPECT_EQ(rows_of(table), 1) << table;
  }
  for (const std::string table : {"past_placement", "inventory_version", "silence"}) {
    EXPECT_EQ(rows_of(table), 0) << table;
  }
}

TEST_F(FleetHistoryTest, HowMuchIsKeptIsBounded) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, 1000));
  for (int64_t time_ns = 100; time_ns < 110; ++time_ns) {
    ASSERT_TRUE(machines_.keep_census({"m1", time_ns, 10, {usage("db", "a", static_cast<double>(time_ns))}}));
  }
  ASSERT_TRUE(machines_.forget_history(50, 4));
  EXPECT_EQ(rows_of("past_placement"), 4);
  EXPECT_EQ(machines_.fleet_at(104).error().code, ErrorCode::kNotFound) << "what is left is not all of it";
  EXPECT_THAT(at(105), ElementsAre("m1 4 CPUs live; db 1/0 105"));
  ASSERT_TRUE(machines_.forget_history(50));
  EXPECT_EQ(machines_.fleet_at(104).error().code, ErrorCode::kNotFound) << "what is forgotten stays so";
}

TEST_F(FleetHistoryTest, SoItIsOfMachinesThatComeAndGoAndChange) {
  for (uint32_t cores = 1; cores <= 10; ++cores) {
    ASSERT_TRUE(machines_.register_machine(machine("m1", "boot", cores), 100 * int64_t{cores}, kHeartbeatNs));
  }
  ASSERT_EQ(rows_of("machine_version"), 10);
  ASSERT_EQ(rows_of("silence"), 9);
  ASSERT_TRUE(machines_.forget_history(50, 4));
  EXPECT_EQ(rows_of("machine_version"), 5) << "the last of those before is still that of then";
  EXPECT_EQ(rows_of("silence"), 4);
  EXPECT_EQ(machines_.fleet_at(599).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(at(650), ElementsAre("m1 6 CPUs live"));
  EXPECT_THAT(at(699), ElementsAre("m1 6 CPUs gone"));
}

TEST_F(FleetHistoryTest, BeginsWhenThisVersionOpensAFileOfAnOlderOne) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, kHeartbeatNs));
  ASSERT_TRUE(machines_.keep_inventory({{.id = "m1", .rack = "r1"}}, 100));
  for (const std::string table : {"machine_version", "missing_version", "inventory_version", "placement",
                                  "past_placement", "silence", "server_start", "history_start"}) {
    run("DROP TABLE " + table);
  }
  run("CREATE TABLE missing_event (machine_id TEXT, event TEXT); INSERT INTO missing_event VALUES "
      "('m1', 'llc-misses'), ('m1', 'cycles')");
  auto reader = *LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kRead);
  EXPECT_EQ(reader.machines()->size(), 1);
  EXPECT_EQ(reader.fleet_at(100).error().code, ErrorCode::kNotFound);
  machines_ = *LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite);
  EXPECT_THAT(at(100), ElementsAre("m1 4 CPUs live rack=r1 lacks=cycles+llc-misses"));
  EXPECT_EQ(now(100), at(100));
  EXPECT_EQ(machines_.fleet_at(99).error().code, ErrorCode::kNotFound) << "nobody noted what was before";
  EXPECT_EQ(rows_of("sqlite_schema WHERE name = 'missing_event'"), 0);
}

// What is written down of the present, after each of many things that happened, is what the history says of it in the end.
TEST_F(FleetHistoryTest, IsThePresentOfThenWhateverHappens) {
  std::mt19937 random(20261125);
  const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const auto name = [&](const char* prefix, int below) { return prefix + std::to_string(any(below)); };
  std::map<int64_t, std::vector<std::string>> presents;
  int64_t now_ns = 1000;
  for (int step = 0; step < 3000; ++step) {
    now_ns += any(4) == 0 ? any(100) + 1 : any(8) + 1;
    const std::string id = name("m", 6);
    switch (any(6)) {
      case 0: {
        std::vector<std::string> lacks;
        for (int i = any(3); i > 0; --i) {
          lacks.push_back(name("event", 3));
        }
        ASSERT_TRUE(machines_.register_machine(machine(id, "boot", 1 + static_cast<uint32_t>(any(2))), now_ns,
                                               kHeartbeatNs, lacks));
        break;
      }
      case 1: {
        std::vector<InventoryMachine> inventory;
        for (int i = 0; i < 8; ++i) {
          if (any(2) == 0) {
            inventory.push_back({.id = "m" + std::to_string(i),
                                 .datacenter = any(2) == 0 ? "" : name("dc", 2),
                                 .rack = name("r", 2)});
          }
        }
        ASSERT_TRUE(machines_.keep_inventory(inventory, now_ns));
        break;
      }
      case 2: {
        std::map<std::pair<std::string, std::string>, InventoryInstance> told;
        for (int i = any(4); i > 0; --i) {
          const std::string of = name("m", 8);
          const std::string job = name("job", 3);
          told[{of, job}] = {of, job, any(2) == 0 ? "" : "i0", 1.0 + any(2)};
        }
        std::vector<InventoryInstance> instances;
        for (const auto& [key, instance] : told) {
          instances.push_back(instance);
        }
        ASSERT_TRUE(machines_.keep_inventory_instances(instances, now_ns));
        break;
      }
      default: {
        Census census{.machine_id = id, .taken_ns = now_ns, .interval_ns = 10, .instances = {}};
        for (int i = 0; i < 1 + any(3); ++i) {
          census.instances.push_back(usage(name("job", 3), "i" + std::to_string(i), 0.1 * any(3)));
        }
        ASSERT_TRUE(
            machines_.machine_seen(id, "boot", now_ns, kHeartbeatNs, any(3) == 0 ? nullptr : &census));
      }
    }
    presents[now_ns] = now(now_ns);
  }
  for (const auto& [time_ns, present] : presents) {
    ASSERT_EQ(at(time_ns), present) << time_ns;
  }
  EXPECT_GT(rows_of("silence"), 50);
  EXPECT_GT(rows_of("past_placement"), 500);
}

}  // namespace
}  // namespace plimsoll::store
