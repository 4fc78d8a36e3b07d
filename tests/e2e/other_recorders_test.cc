// Other recorders on the machine get what they would get without the daemon.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

Finished shell(const std::string& command) {
  return run({"/bin/sh", "-c", command});
}

class OtherRecorders : public ::testing::Test {
 protected:
  // Each run of perf starts programs, whose mappings both it and the daemon get records of. Counts the samples.
  int record(const std::string& name) const {
    const std::string path = folder_ / name;
    const Finished recorded = shell(fmt::format(
        "perf record -q -e cpu-clock -F 499 -g -o {0} -- sh -c 'gzip -c $(command -v perf) >/dev/null'",
        path));
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    const Finished counted = shell(fmt::format("perf script -F tid -G -i {} 2>/dev/null | grep -c .", path));
    return std::atoi(counted.out.c_str());
  }

  const TemporaryFolder folder_;
};

// PLIMSOLL_TEST_RECORDINGS: how many; scripts/soak.sh makes more.
TEST_F(OtherRecorders, EndWellAndHaveTheirSamples) {
  if (!may_sample_machine() || shell("command -v perf >/dev/null").status != 0) {
    GTEST_SKIP() << "this user may not sample the machine, or there is no perf";
  }
  const char* const wanted = std::getenv("PLIMSOLL_TEST_RECORDINGS");
  const int runs = wanted == nullptr ? 4 : std::atoi(wanted);
  int alone = 0;
  for (int i = 0; i < runs; ++i) {
    alone += record("alone");
  }
  ASSERT_GT(alone, runs * 10);
  const Background daemon({"plimsolld", "--once", "600", "--output", folder_ / "profile"});
  wait_until_sampling(daemon);
  int beside = 0;
  for (int i = 0; i < runs && !HasFailure(); ++i) {
    beside += record("beside");
  }
  std::printf("%d samples alone, %d beside the daemon\n", alone, beside);
  // Samples are taken by the CPU time that the work takes, which differs from run to run.
  EXPECT_NEAR(beside, alone, 0.1 * alone);
}

}  // namespace
}  // namespace plimsoll::testing
