// A server whose disk is full takes orders nonetheless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/fleet.h"
#include "tests/e2e/small_disk.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

TEST(FullDisk, LeavesTheKillSwitchItsRoom) {
  const SmallDisk disk(uint64_t{96} << 20);
  if (!disk.missing().empty()) {
    GTEST_SKIP() << disk.missing();
  }
  TestServer server(disk.path() + "/data");
  ASSERT_TRUE(server.becomes_ready());
  disk.fill();
  const auto order = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"plimsoll", "collection", "--server", server.address()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all);
  };
  // Each of them takes some pages.
  for (int time = 0; time < 3; ++time) {
    const Finished stopped = order({"--stop", "the disk is full"});
    EXPECT_EQ(stopped.status, 0) << stopped.err;
    EXPECT_THAT(stopped.out, HasSubstr("the disk is full"));
    const Finished resumed = order({"--resume"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
  }
  EXPECT_THAT(server.process().err(), HasSubstr("the disk is full: an order uses the reserve"));
  EXPECT_EQ(order({"--stop", "for good"}).status, 0);
  server.crash();
  server.start();
  ASSERT_TRUE(server.becomes_ready());
  EXPECT_THAT(order({}).out, HasSubstr("for good")) << "it was on disk";
}

}  // namespace
}  // namespace plimsoll::testing
