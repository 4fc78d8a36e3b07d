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

struct Recorded {
  double samples = 0;
  double cpu_s = 0;

  // Samples are taken by CPU time, and the same work does not take the same time twice.
  double samples_per_second() const { return samples / cpu_s; }
};

// Of the children, user and system, which bash's "times" prints in its second line as "0m0.276s 0m0.004s".
double cpu_seconds_of_children(const std::string& times) {
  unsigned user_minutes = 0;
  unsigned system_minutes = 0;
  double user_s = 0;
  double system_s = 0;
  const size_t second_line = times.find('\n') + 1;
  EXPECT_EQ(std::sscanf(times.c_str() + second_line, "%um%lfs %um%lfs", &user_minutes, &user_s,
                        &system_minutes, &system_s),
            4)
      << times;
  return 60.0 * (user_minutes + system_minutes) + user_s + system_s;
}

class OtherRecorders : public ::testing::Test {
 protected:
  // Each run of perf starts programs, whose mappings both it and the daemon get records of.
  Recorded record(int runs) const {
    const std::string path = folder_ / "recording";
    Recorded all;
    for (int i = 0; i < runs && !HasFailure(); ++i) {
      const Finished recorded =
          shell(fmt::format("perf record -q -e cpu-clock -F 499 -g -o {} -- bash -c 'gzip -c $(command -v "
                            "perf) >/dev/null; times'",
                            path));
      EXPECT_EQ(recorded.status, 0) << recorded.err;
      const Finished counted =
          shell(fmt::format("perf script -F tid -G -i {} 2>/dev/null | grep -c .", path));
      all.samples += std::atof(counted.out.c_str());
      all.cpu_s += cpu_seconds_of_children(recorded.out);
    }
    return all;
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
  const Recorded alone = record(runs);
  ASSERT_GT(alone.samples, runs * 10);
  const Background daemon({"plimsolld", "--once", "600", "--output", folder_ / "profile"});
  wait_until_sampling(daemon);
  const Recorded beside = record(runs);
  std::printf("%.0f samples of %.3f s alone, %.0f of %.3f s beside the daemon\n", alone.samples, alone.cpu_s,
              beside.samples, beside.cpu_s);
  EXPECT_NEAR(beside.samples_per_second(), alone.samples_per_second(), 0.1 * alone.samples_per_second());
}

}  // namespace
}  // namespace plimsoll::testing
