#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/catalogue/catalogue.h"
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
  Catalogue catalogue_ = *Catalogue::open(folder_ / "catalogue.db", sqlite::OpenMode::kReadWrite);
};

TEST_F(MachinesTest, RegisteringAgainBringsAttributesUpToDate) {
  ASSERT_TRUE(catalogue_.register_machine(machine("m1", "boot", 4), 100, 0));
  ASSERT_TRUE(catalogue_.register_machine(machine("m1", "boot", 8), 200, 150));
  const auto machines = *catalogue_.machines();
  ASSERT_EQ(machines.size(), 1);
  EXPECT_EQ(machines[0].attributes.cores(), 8);
  EXPECT_EQ(machines[0].first_seen_ns, 100);
  EXPECT_EQ(machines[0].last_seen_ns, 200);
}

TEST_F(MachinesTest, TwoLiveMachinesWithOneIdAreAClonedImage) {
  ASSERT_TRUE(catalogue_.register_machine(machine("m1", "boot-a"), 100, 0));
  const Status clone = catalogue_.register_machine(machine("m1", "boot-b"), 200, 50);
  ASSERT_FALSE(clone);
  EXPECT_EQ(clone.error().code, ErrorCode::kConflict);
  EXPECT_EQ(clone.error().field, "machine.id");
  EXPECT_EQ((*catalogue_.machines())[0].attributes.boot_id(), "boot-a");
}

TEST_F(MachinesTest, AMachineThatFellSilentMayComeBackRebooted) {
  ASSERT_TRUE(catalogue_.register_machine(machine("m1", "boot-a"), 100, 0));
  EXPECT_TRUE(catalogue_.register_machine(machine("m1", "boot-b"), 200, 100));
  EXPECT_EQ((*catalogue_.machines())[0].attributes.boot_id(), "boot-b");
}

TEST_F(MachinesTest, OnlyARegisteredBootIsSeen) {
  ASSERT_TRUE(catalogue_.register_machine(machine("m1", "boot-a"), 100, 0));
  EXPECT_EQ(catalogue_.machine_seen("m1", "boot-a", 300), true);
  EXPECT_EQ(catalogue_.machine_seen("m1", "boot-b", 400), false);
  EXPECT_EQ(catalogue_.machine_seen("m2", "boot-a", 400), false);
  EXPECT_EQ((*catalogue_.machines())[0].last_seen_ns, 300);
}

}  // namespace
}  // namespace plimsoll::store
