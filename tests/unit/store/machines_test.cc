#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/live/live_machines.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/machine_to_register.h"

namespace plimsoll::store::machines_test {
namespace {

class MachinesTest : public ::testing::Test {
 protected:
  plimsoll::testing::TemporaryDirectory folder_;
  LiveMachines machines_ = *LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite);
};

TEST_F(MachinesTest, RegisteringAgainBringsAttributesUpToDate) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot", 4), 100, 20));
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot", 8), 200, 20));
  const auto machines = *machines_.machines();
  ASSERT_EQ(machines.size(), 1);
  EXPECT_EQ(machines[0].attributes.cores(), 8);
  EXPECT_EQ(machines[0].first_seen_ns, 100);
  EXPECT_EQ(machines[0].last_seen_ns, 200);
}

TEST_F(MachinesTest, TwoLiveMachinesWithOneIdAreAClonedImage) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot-a"), 100, 50));
  const Status clone = machines_.register_machine(machine("m1", "boot-b"), 200, 50);
  ASSERT_FALSE(clone);
  EXPECT_EQ(clone.error().code, ErrorCode::kConflict);
  EXPECT_EQ(clone.error().field, "machine.id");
  EXPECT_EQ((*machines_.machines())[0].attributes.boot_id(), "boot-a");
}

TEST_F(MachinesTest, AMachineThatFellSilentMayComeBackRebooted) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot-a"), 100, 30));
  EXPECT_TRUE(machines_.register_machine(machine("m1", "boot-b"), 200, 30));
  EXPECT_EQ((*machines_.machines())[0].attributes.boot_id(), "boot-b");
}

TEST_F(MachinesTest, OnlyARegisteredBootIsSeen) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot-a"), 100, 0));
  EXPECT_EQ(machines_.machine_seen("m1", "boot-a", 300, 50), true);
  EXPECT_EQ(machines_.machine_seen("m1", "boot-b", 400, 50), false);
  EXPECT_EQ(machines_.machine_seen("m2", "boot-a", 400, 50), false);
  EXPECT_EQ((*machines_.machines())[0].last_seen_ns, 300);
}

TEST_F(MachinesTest, RefusalsAreCountedForMachinesThatHaveRegistered) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, 50));
  ASSERT_TRUE(machines_.register_machine(machine("m2", "boot"), 100, 50));
  for (const std::string why : {"first", "second"}) {
    ASSERT_TRUE(machines_.note_refused("m2", why, 200));
    ASSERT_TRUE(machines_.note_refused("nobody", why, 200));
  }
  const auto machines = *machines_.machines();
  ASSERT_EQ(machines.size(), 2);
  EXPECT_EQ(machines[0].refused, 0);
  EXPECT_EQ(machines[1].refused, 2);
  EXPECT_EQ(machines[1].refused_why, "second");
  ASSERT_TRUE(machines_.forget_unheard_since(1000).has_value());
  ASSERT_TRUE(machines_.register_machine(machine("m2", "boot"), 2000, 50));
  EXPECT_EQ(machines_.machines()->front().refused, 0) << "it is another one by now";
}

TEST_F(MachinesTest, AHeartbeatToldAtAnotherIntervalIsJudgedByIt) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot-a"), 100, 10));
  EXPECT_EQ(machines_.machine_seen("m1", "boot-a", 200, 1000), true);
  EXPECT_TRUE((*machines_.machines())[0].is_live(2000));
}

wire::InstanceUsage usage(const std::string& job, const std::string& instance, double quota_cpus = 0) {
  wire::InstanceUsage made;
  made.set_job(job);
  made.set_instance(instance);
  made.set_container("c");
  made.set_quota_cpus(quota_cpus);
  made.set_weight(100);
  made.set_cpu_time_ns(7);
  return made;
}

TEST_F(MachinesTest, KeepsTheNewestCensusOfEachMachine) {
  ASSERT_TRUE(machines_.keep_census({"m1", 100, 10, {usage("db", "a"), usage("db", "b")}}));
  ASSERT_TRUE(machines_.keep_census({"m2", 100, 10, {usage("web", "c")}}));
  ASSERT_TRUE(machines_.keep_census({"m1", 200, 20, {usage("db", "b", 1.5)}}));
  ASSERT_TRUE(machines_.keep_census({"m2", 300, 30, {}}));
  const auto censuses = *machines_.censuses();
  ASSERT_EQ(censuses.size(), 2);
  EXPECT_EQ(censuses[0].taken_ns, 200);
  EXPECT_EQ(censuses[0].interval_ns, 20);
  ASSERT_EQ(censuses[0].instances.size(), 1);
  EXPECT_EQ(censuses[0].instances[0].SerializeAsString(), usage("db", "b", 1.5).SerializeAsString());
  EXPECT_EQ(censuses[1].taken_ns, 300);
  EXPECT_TRUE(censuses[1].instances.empty());
}

TEST_F(MachinesTest, AreMergedWithTheInventory) {
  wire::Machine known = machine("m2", "boot");
  known.set_datacenter("as it says");
  known.set_cluster("as it says");
  ASSERT_TRUE(machines_.register_machine(known, 100, 20));
  ASSERT_TRUE(machines_.register_machine(machine("m4", "boot"), 100, 20));
  ASSERT_TRUE(machines_.keep_inventory({{.id = "old", .rack = "r0"}}, 100));
  ASSERT_TRUE(machines_.keep_inventory({{.id = "m1", .rack = "r1"},
                                        {.id = "m2", .datacenter = "fra", .rack = "r2", .owner = "ads"},
                                        {.id = "m9"}},
                                       100));
  std::vector<std::string> lines;
  const auto merged = machines_.machines();
  for (const LiveMachine& m : merged.value()) {
    lines.push_back(fmt::format("{} {} '{}' '{}' '{}' '{}'", m.attributes.id(), m.first_seen_ns,
                                m.attributes.datacenter(), m.attributes.cluster(), m.rack, m.owner));
  }
  EXPECT_THAT(lines, ::testing::ElementsAre("m1 0 '' '' 'r1' ''", "m2 100 'fra' 'as it says' 'r2' 'ads'",
                                            "m4 100 '' '' '' ''", "m9 0 '' '' '' ''"));
  EXPECT_FALSE((*machines_.machines())[0].is_live(100)) << "nobody has heard of it";
  EXPECT_EQ(machines_.count(), 2);
  // A reader of a file that an older version has written.
  auto old = *sqlite::Database::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(old.run("DROP TABLE inventory"));
  EXPECT_EQ(LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kRead)->machines()->size(), 2);
}

TEST_F(MachinesTest, AMachineIsLiveForThreeHeartbeats) {
  LiveMachine machine;
  machine.last_seen_ns = 1000;
  machine.heartbeat_ns = 10;
  EXPECT_TRUE(machine.is_live(1029));
  EXPECT_FALSE(machine.is_live(1030));
}

// "machine: job/instance quota weight, ..." of each census.
std::vector<std::string> lines_of(const std::vector<Census>& censuses) {
  std::vector<std::string> lines;
  for (const Census& census : censuses) {
    std::string& line = lines.emplace_back(census.machine_id + ":");
    for (const wire::InstanceUsage& used : census.instances) {
      line += fmt::format(" {}/{} {} {}", used.job(), used.instance(), used.quota_cpus(), used.weight());
    }
  }
  return lines;
}

TEST_F(MachinesTest, WhatAClusterManagerSaysOfInstancesHolds) {
  ASSERT_TRUE(machines_.keep_census({"m1", 100, 10, {usage("db", "a", 1), usage("db", "b", 1)}}));
  ASSERT_TRUE(machines_.keep_census({"m3", 100, 10, {usage("web", "c", 2), usage("web", "d", 2)}}));
  ASSERT_TRUE(machines_.keep_inventory_instances({{"m1", "old", "x", 9, 9}}, 150));
  ASSERT_TRUE(machines_.keep_inventory_instances({{"m1", "db", "a", 4, 0},
                                                  {"m1", "mail", "e", 0.5, 10},
                                                  {"m2", "batch", "", 3, 0},
                                                  {"m2", "batch2", "f", 0, 20},
                                                  {"m3", "web", "", 5, 200}},
                                                 200));
  EXPECT_THAT(lines_of(*machines_.censuses()),
              ::testing::ElementsAre("m1: db/a 4 100 db/b 1 100 mail/e 0.5 10",  //
                                     "m2: batch/batch 3 0 batch2/f 0 20",        //
                                     "m3: web/c 2.5 200 web/d 2.5 200"));
  EXPECT_EQ((*machines_.censuses())[1].taken_ns, 200);
  ASSERT_TRUE(machines_.keep_inventory_instances({}, 300));
  EXPECT_THAT(lines_of(*machines_.censuses()),
              ::testing::ElementsAre("m1: db/a 1 100 db/b 1 100", "m3: web/c 2 100 web/d 2 100"));
}

TEST_F(MachinesTest, SayWhichEventsTheyLack) {
  ASSERT_TRUE(machines_.register_machine(machine("m1", "boot"), 100, 20, {"cycles", "llc-misses"}));
  ASSERT_TRUE(machines_.register_machine(machine("m2", "boot"), 100, 20));
  ASSERT_TRUE(machines_.register_machine(machine("m3", "boot"), 100, 20, {"cycles"}));
  ASSERT_TRUE(machines_.register_machine(machine("m3", "boot"), 200, 20, {"branches", "branches"}));
  std::vector<std::vector<std::string>> missing;
  const auto machines = machines_.machines();
  for (const LiveMachine& m : machines.value()) {
    missing.push_back(m.missing_events);
  }
  using ::testing::ElementsAre;
  EXPECT_THAT(missing,
              ElementsAre(ElementsAre("cycles", "llc-misses"), ElementsAre(), ElementsAre("branches")));
}

TEST_F(MachinesTest, ThatVanishedAreForgottenInTime) {
  for (const std::string id : {"m1", "m2", "m3"}) {
    ASSERT_TRUE(machines_.register_machine(machine(id, "boot"), 100, 20));
    ASSERT_TRUE(machines_.keep_census({id, 100, 10, {usage("db", "a")}}));
  }
  ASSERT_EQ(machines_.machine_seen("m2", "boot", 500, 20), true);
  ASSERT_TRUE(machines_.keep_inventory({{.id = "m3", .rack = "r1"}}, 100));
  EXPECT_EQ(machines_.forget_unheard_since(100), 0);
  EXPECT_EQ(machines_.forget_unheard_since(101), 2);
  const auto left = *machines_.machines();
  ASSERT_EQ(left.size(), 2);
  EXPECT_EQ(left[0].attributes.id(), "m2");
  EXPECT_EQ(left[1].first_seen_ns, 0) << "the inventory still knows of m3";
  EXPECT_EQ(machines_.censuses()->size(), 1);
  EXPECT_EQ(machines_.machine_seen("m1", "boot", 600, 20), false) << "it is to register again";
}

}  // namespace
}  // namespace plimsoll::store::machines_test
