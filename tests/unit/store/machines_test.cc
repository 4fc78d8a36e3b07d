#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/live/live_machines.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

wire::Machine machine(const std::string& id, const std::string& boot_id, uint32_t cores = 4) {
  wire::Machine made;
  made.set_id(id);
  made.set_boot_id(boot_id);
  made.set_cores(cores);
  return made;
}

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
  ASSERT_TRUE(machines_.keep_inventory({{.id = "old", .rack = "r0"}}));
  ASSERT_TRUE(machines_.keep_inventory({{.id = "m1", .rack = "r1"},
                                        {.id = "m2", .datacenter = "fra", .rack = "r2", .owner = "ads"},
                                        {.id = "m9"}}));
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

}  // namespace
}  // namespace plimsoll::store
