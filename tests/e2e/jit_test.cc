// JIT-compiled code has the names that its compiler wrote down. Needs the privileges to sample the machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/e2e/fleet.h"

namespace plimsoll::testing {
namespace {

TEST(Jit, CodeIsNamedByItsPerfMap) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
#if !defined(__x86_64__)
  GTEST_SKIP() << "jit_loop makes code for x86-64 only";
#endif
  const TemporaryFolder folder;
  Background load({"jit_loop", "600"});
  const std::string map = "/tmp/perf-" + std::to_string(load.pid()) + ".map";
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(map); }));
  const Finished once = run({"plimsolld", "--once", "2", "--rate", "199", "--output", folder / "profile"});
  load.kill(SIGKILL);
  load.wait();
  std::filesystem::remove(map);
  ASSERT_EQ(once.status, 0) << once.err;
  const Finished imported = run({"plimsoll", "import", "--data", folder / "data", folder / "profile"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const auto self = self_of(top({"--data", folder / "data", "--where", "app=jit_loop"}));
  ASSERT_TRUE(self.contains("jitted_busy_loop"));
  double sum = 0;
  for (const auto& [function, value] : self) {
    sum += value;
  }
  std::printf("jitted_busy_loop: %.1f %% of jit_loop\n", 100 * self.at("jitted_busy_loop") / sum);
  EXPECT_GT(self.at("jitted_busy_loop"), 0.5 * sum);
  EXPECT_FALSE(self.contains("[no symbol in [jit]]"));
}

}  // namespace
}  // namespace plimsoll::testing
