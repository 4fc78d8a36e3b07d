// Bursts of this machine, recorded by plimsolld and read by plimsoll.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
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

// Why this machine cannot record marks at all; empty: it can, as far as can be told beforehand.
std::string why_no_recording() {
  const bool may_record = may_sample_machine() && perf::find_tracefs("/sys").has_value();
  return may_record
             ? ""
             : "this user may not record tracepoints, or they are not mounted: mount -t tracefs tracefs "
               "/sys/kernel/tracing";
}

// Kernels without CONFIG_FTRACE_SYSCALLS have no raw_syscalls.
bool lacks_marks(const Finished& recorded) {
  return recorded.out.find("not recorded: mark-call") != std::string::npos;
}

uint64_t all_lost(const nlohmann::json& burst) {
  uint64_t lost = burst["unread_bytes"].get<uint64_t>();
  for (const auto& one : burst["lost"]) {
    lost += one.get<uint64_t>();
  }
  return lost;
}

class Bursts : public ::testing::Test {
 protected:
  std::string file() const { return folder_ / "machine.bursts"; }

  const TemporaryFolder folder_;
};

TEST_F(Bursts, HaveTheMarksOfAProgram) {
  if (const std::string why = why_no_recording(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const Background program({"marked_requests"});
  const Finished recorded =
      run({"plimsolld", "bursts", "record", "--config", kConfig, "--output", file(), "--bursts", "3"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (lacks_marks(recorded)) {
    GTEST_SKIP() << recorded.out;
  }
  EXPECT_THAT(recorded.out, HasSubstr("3 bursts"));
  const Finished shown = run({"plimsoll", "bursts", "show", file(), "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto document = nlohmann::json::parse(shown.out);
  EXPECT_EQ(document["config"], kConfig);
  ASSERT_EQ(document["bursts"].size(), 3U);
  uint64_t marks = 0;
  uint64_t lost = 0;
  uint64_t switches = 0;
  uint64_t wakes = 0;
  for (const auto& burst : document["bursts"]) {
    EXPECT_EQ(burst["events"]["syscall-enter"], 0) << burst;
    const uint64_t lost_here = all_lost(burst);
    lost += lost_here;
    // A burst may begin or end between the two calls; other programs of the machine make marks too, if any.
    if (lost_here == 0) {
      EXPECT_LE(burst["torn_marks"], 2) << burst;
    }
    switches += burst["events"]["switch"].get<uint64_t>();
    wakes += burst["events"]["wake"].get<uint64_t>();
    marks += burst["marks"].get<uint64_t>();
  }
  if (marks == 0 && (lost > 0 || program.out().empty())) {
    GTEST_SKIP() << "the program did not run, or all its marks were lost: the machine is busy";
  }
  EXPECT_GT(marks, 0U);
  EXPECT_GT(switches, 0U);
  EXPECT_GT(wakes, 0U);
  EXPECT_THAT(run({"plimsoll", "bursts", "show", file()}).out,
              AllOf(HasSubstr("config 1,7"), HasSubstr("late us")));
}

struct Truth {
  int64_t cpu_ns = 0;
  int64_t took_ns = 0;
};

std::map<uint64_t, Truth> truth_in(const std::string& text) {
  std::map<uint64_t, Truth> truth;
  std::istringstream lines(text);
  uint64_t request = 0;
  Truth one;
  while (lines >> request >> one.cpu_ns >> one.took_ns) {
    truth[request] = one;
  }
  return truth;
}

// Of all requests that are whole in a burst, beside what the program measured itself.
TEST_F(Bursts, KnowTimesOfRequests) {
  if (const std::string why = why_no_recording(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const Background program({"marked_requests"});
  const Finished recorded =
      run({"plimsolld", "bursts", "record", "--config", kConfig, "--output", file(), "--bursts", "8"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (lacks_marks(recorded)) {
    GTEST_SKIP() << recorded.out;
  }
  const Finished shown =
      run({"plimsoll", "bursts", "requests", file(), "--whole", "--json", "--limit", "10000"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto truth = truth_in(program.out());
  const auto document = nlohmann::json::parse(shown.out);
  if (document["lost_events"] != 0) {
    GTEST_SKIP() << "events were lost: " << document["lost_events"];
  }
  // Each takes 5 ms of a machine that has time for it, of bursts of 128 ms.
  if (document["requests"].empty()) {
    GTEST_SKIP() << "no request was whole within a burst: the machine is busy";
  }
  Truth measured;
  Truth found;
  for (const auto& request : document["requests"]) {
    const auto known = truth.find(std::stoull(request["request"].get<std::string>(), nullptr, 16));
    // Another program of the machine may make marks, and a kernel thread that this one wakes works for its request.
    if (known != truth.end() && request["threads"] == 1) {
      measured.cpu_ns += known->second.cpu_ns;
      measured.took_ns += known->second.took_ns;
      found.cpu_ns += request["running_ns"].get<int64_t>();
      found.took_ns += request["duration_ns"].get<int64_t>();
      EXPECT_EQ(request["running_ns"].get<int64_t>() + request["runnable_ns"].get<int64_t>() +
                    request["blocked_ns"].get<int64_t>(),
                request["duration_ns"].get<int64_t>())
          << request;
    }
  }
  if (measured.cpu_ns == 0) {
    GTEST_SKIP() << "each request had help of other threads, or is another program's";
  }
  RecordProperty("requests", static_cast<int>(document["requests"].size()));
  fmt::print("{} whole requests, CPU {} of {} ns, elapsed {} of {} ns\n", document["requests"].size(),
             found.cpu_ns, measured.cpu_ns, found.took_ns, measured.took_ns);
  // The program looks at its clocks within its marks. Its CPU time may lack what interrupts and the host took.
  EXPECT_GE(10 * found.cpu_ns, 9 * measured.cpu_ns);
  EXPECT_GE(found.took_ns, measured.took_ns);
  const Finished exported = run({"plimsoll", "bursts", "export", file(), "--chrome", folder_ / "burst.json"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  const auto chrome = nlohmann::json::parse(std::ifstream(folder_ / "burst.json"));
  EXPECT_GT(chrome["traceEvents"].size(), document["requests"].size());
}

TEST_F(Bursts, SayWhatIsMissing) {
  const Finished refused = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                "--inh-caps=-all", "--bounding-set=-all", program("plimsolld"), "bursts",
                                "record", "--config", kConfig, "--output", file(), "--bursts", "1"});
  if (refused.err.contains("setpriv")) {
    GTEST_SKIP() << refused.err;
  }
  if (refused.status == 0) {
    GTEST_SKIP() << "on this machine all users may record";
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
