// Bursts of this machine, recorded by plimsolld and read by plimsoll.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/events/tracepoints.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// 128 ms of every 256.
constexpr const char* kConfig = "1,7";

class Bursts : public ::testing::Test {
 protected:
  std::string file() const { return folder_ / "machine.bursts"; }

  const TemporaryFolder folder_;
};

TEST_F(Bursts, HaveTheMarksOfAProgram) {
  const auto tracefs = perf::find_tracefs("/sys");
  if (!may_sample_machine() || !tracefs) {
    GTEST_SKIP() << "this user may not record tracepoints, or they are not mounted: mount -t tracefs tracefs "
                    "/sys/kernel/tracing";
  }
  const Background program({"marked_requests"});
  const Finished recorded =
      run({"plimsolld", "bursts", "record", "--config", kConfig, "--output", file(), "--bursts", "3"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(recorded.out, HasSubstr("3 bursts"));
  const Finished shown = run({"plimsoll", "bursts", "show", file(), "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto document = nlohmann::json::parse(shown.out);
  EXPECT_EQ(document["config"], kConfig);
  ASSERT_EQ(document["bursts"].size(), 3U);
  uint64_t marks = 0;
  for (const auto& burst : document["bursts"]) {
    EXPECT_GT(burst["events"]["switch"], 0) << burst;
    EXPECT_GT(burst["events"]["wake"], 0) << burst;
    EXPECT_EQ(burst["events"]["syscall-enter"], 0) << burst;
    // A burst may begin or end between the two calls.
    EXPECT_LE(burst["torn_marks"], 1) << burst;
    marks += burst["marks"].get<uint64_t>();
  }
  EXPECT_GT(marks, 0U);
  EXPECT_THAT(run({"plimsoll", "bursts", "show", file()}).out,
              AllOf(HasSubstr("config 1,7"), HasSubstr("late us")));
}

TEST_F(Bursts, SayWhatIsMissing) {
  const Finished refused = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                "--inh-caps=-all", "--bounding-set=-all", program("plimsolld"), "bursts",
                                "record", "--config", kConfig, "--output", file()});
  if (refused.err.contains("setpriv")) {
    GTEST_SKIP() << refused.err;
  }
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AnyOf(HasSubstr("mount -t tracefs"), HasSubstr("CAP_DAC_READ_SEARCH"),
                                 HasSubstr("CAP_PERFMON")));
}

TEST_F(Bursts, RefuseWrongConfigs) {
  for (const char* config : {"7", "0,8", "21,1", "x"}) {
    const Finished refused = run({"plimsolld", "bursts", "record", "--config", config, "--output", file()});
    EXPECT_EQ(refused.status, 2) << config;
    EXPECT_THAT(refused.err, HasSubstr("--config")) << config;
  }
}

}  // namespace
}  // namespace plimsoll::testing
