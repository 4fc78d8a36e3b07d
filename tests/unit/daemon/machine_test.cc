#include "daemon/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::identity {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(MachineId, IsStableAndDoesNotGiveTheOriginalAway) {
  const std::string original = "0123456789abcdef0123456789abcdef";
  const std::string id = machine_id_from(original);
  EXPECT_EQ(id, machine_id_from(original));
  EXPECT_THAT(id, SizeIs(32));
  EXPECT_THAT(id, Not(HasSubstr(original.substr(0, 8))));
  EXPECT_NE(id, machine_id_from("0123456789abcdef0123456789abcdee"));
}

TEST(Machine, KeepsARandomIdOrTakesTheConfiguredOne) {
  const auto configured = read_machine({"m1", "east", "c", "/nowhere"});
  ASSERT_TRUE(configured.has_value()) << configured.error().text();
  EXPECT_EQ(configured->id(), "m1");
  EXPECT_EQ(configured->datacenter(), "east");
  EXPECT_EQ(configured->cluster(), "c");
  EXPECT_GT(configured->cores(), 0);
  EXPECT_GT(configured->memory_bytes(), 0);
  const FakeProc folder;
  MachineSettings settings;
  settings.state_dir = folder.root();
  const auto derived = read_machine(settings);
  ASSERT_TRUE(derived.has_value()) << derived.error().text();
  EXPECT_THAT(derived->id(), Not(IsEmpty()));
  EXPECT_EQ(read_machine(settings)->id(), derived->id());
}

}  // namespace
}  // namespace plimsoll::identity
