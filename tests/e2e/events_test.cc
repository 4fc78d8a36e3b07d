// Events by name on the machine that runs the tests: whatever it has is sampled, whatever it has not is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <thread>

#include "base/file.h"
#include "daemon/events/event_catalogue.h"
#include "proto/profile_codec.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tracing_files.h"

namespace plimsoll::testing {
namespace {

class Events : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
};

// What `plimsolld --once` of the options collects.
wire::RawProfile collect(const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  std::vector<std::string> command{"plimsolld", "--output", folder / "profile", "--stack-bytes", "8"};
  command.insert(command.end(), options.begin(), options.end());
  const Finished once = run(command);
  EXPECT_EQ(once.status, 0) << once.err;
  const auto content = read_file(folder / "profile", 1 << 30);
  auto profile = content ? wire::decode(as_bytes(*content)) : propagate(content);
  EXPECT_TRUE(profile.has_value()) << profile.error().text();
  return profile.value_or(wire::RawProfile());
}

std::map<std::string, wire::Event> events_of(const wire::RawProfile& profile) {
  std::map<std::string, wire::Event> events;
  for (const wire::Event& event : profile.events()) {
    events[event.name()] = event;
  }
  return events;
}

double running_share(const wire::Event& event) {
  return static_cast<double>(event.time_running_ns()) / static_cast<double>(event.time_enabled_ns());
}

TEST_F(Events, OfSetsTakeTurnsAndAreScaledToTheWholeWindow) {
  // One thread is busy all the time: what a clock counts in half of the turns, scaled, is the whole.
  const Background load({"known_split", "60", "work"});
  const auto events = events_of(collect({"--once", "8", "--rate", "200", "--event-set", "cpu-clock",
                                         "--event-set", "task-clock,page-faults:1", "--turn", "0.5"}));
  ASSERT_TRUE(events.contains("cpu-clock") && events.contains("task-clock") &&
              events.contains("page-faults"));
  const wire::Event& cpu_clock = events.at("cpu-clock");
  const wire::Event& task_clock = events.at("task-clock");
  std::printf("ran: cpu-clock %.3f, task-clock %.3f, page-faults %.3f of the window\n",
              running_share(cpu_clock), running_share(task_clock), running_share(events.at("page-faults")));
  // Sixteen turns of half a second, each up to a drain longer, by rounds of both sets.
  EXPECT_NEAR(running_share(cpu_clock), 0.5, 0.25);
  EXPECT_NEAR(running_share(cpu_clock) + running_share(task_clock), 1, 0.01);
  EXPECT_NEAR(running_share(events.at("page-faults")), running_share(task_clock), 0.001) << "of one set";
  EXPECT_THAT(cpu_clock.note(), ::testing::HasSubstr("sets of events take turns"));
  EXPECT_EQ(running_share(events.at("context-switches")), 1) << "whoever's turn it is";
  // Every CPU's clock ran for the whole window, as told by either set.
  const auto told = cpu_clock.counter_total() / running_share(cpu_clock);
  EXPECT_NEAR(told / static_cast<double>(cpu_clock.time_enabled_ns()), 1, 0.01);
  const wire::Event& faults = events.at("page-faults");
  EXPECT_EQ(static_cast<double>(faults.hits() + faults.lost() + faults.not_sampled()),
            faults.counter_total());
}

TEST_F(Events, OfTracepointsAreSampledWithEveryOccurrence) {
  if (const std::string why = why_no_tracepoints(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto profile =
      collect({"--once", "1", "--event", "sched:sched_process_fork:1", "--event", "sched:sched_switch"});
  const auto events = events_of(profile);
  ASSERT_TRUE(events.contains("sched:sched_switch"));
  EXPECT_GT(events.at("sched:sched_switch").counter_total(), 0);
  const wire::Event& forks = events.at("sched:sched_process_fork");
  EXPECT_EQ(forks.mean_period(), 1);
  EXPECT_EQ(static_cast<double>(forks.hits() + forks.lost() + forks.not_sampled()), forks.counter_total());
}

// Empty where the profile does not call it missing.
std::string missing_reason(const wire::RawProfile& profile, const std::string& name) {
  for (const wire::MissingEvent& missing : profile.missing_events()) {
    if (missing.name() == name) {
      return missing.reason();
    }
  }
  return {};
}

TEST_F(Events, ThatAreMissingAreSaidInTheProfile) {
  const auto profile = collect({"--once", "0.2", "--event", "no_such_pmu/event=1/", "--event", "cpu-clock"});
  EXPECT_THAT(missing_reason(profile, "no_such_pmu/event=1/"),
              ::testing::HasSubstr("a PMU called no_such_pmu"));
  EXPECT_EQ(missing_reason(profile, "cpu-clock"), "");
}

// For as long as it lives, on a thread of its own.
class PageFaults {
 public:
  PageFaults() : thread_([](const std::stop_token& stopped) { produce(stopped); }) {}

 private:
  static void produce(const std::stop_token& stopped) {
    constexpr size_t kPageBytes = 4096;
    while (!stopped.stop_requested()) {
      void* page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *static_cast<volatile char*>(page) = 1;
      ::munmap(page, kPageBytes);
    }
  }

  std::jthread thread_;
};

TEST_F(Events, ThatAreNeverSampledAreSaidInTheProfile) {
  const PageFaults faults;
  const auto profile =
      collect({"--once", "0.2", "--event", "page-faults:1000000000", "--event", "cpu-clock"});
  EXPECT_EQ(events_of(profile).at("page-faults").hits(), 0);
  EXPECT_THAT(
      missing_reason(profile, "page-faults"),
      ::testing::ContainsRegex("^[0-9]+ were counted and none was sampled, with a period of 1000000000"));
}

TEST_F(Events, OfThePmuAreCountedWhereThereIsOne) {
  const auto catalogue = perf::EventCatalogue::of_this_machine();
  if (!catalogue.find("cycles")) {
    GTEST_SKIP() << catalogue.find("cycles").error().text();
  }
  const Background load({"known_split", "60", "work"});
  std::vector<std::string> options{"--once", "2"};
  for (const char* name :
       {"cycles", "instructions", "llc-misses", "L1-dcache-loads", "branch-misses", "dtlb-walks"}) {
    if (catalogue.find(name)) {
      options.insert(options.end(), {"--event-set", name});
    }
  }
  const auto profile = collect(options);
  for (const auto& [name, event] : events_of(profile)) {
    EXPECT_GT(event.time_running_ns(), 0) << name;
  }
  const auto events = events_of(profile);
  const double ipc = events.at("instructions").counter_total() / running_share(events.at("instructions")) /
                     (events.at("cycles").counter_total() / running_share(events.at("cycles")));
  EXPECT_GT(ipc, 0.01);
  EXPECT_LT(ipc, 10);
}

TEST_F(Events, ThatCanOnlyBeCountedAreRowsOfTheMachine) {
  const auto catalogue = perf::EventCatalogue::of_this_machine();
  if (!catalogue.find("msr/tsc/")) {
    GTEST_SKIP() << catalogue.find("msr/tsc/").error().text();
  }
  const auto profile = collect({"--once", "1", "--event", "msr/tsc/", "--event", "cpu-clock"});
  const auto events = events_of(profile);
  ASSERT_TRUE(events.contains("msr/tsc/"));
  const wire::Event& tsc = events.at("msr/tsc/");
  EXPECT_EQ(tsc.mean_period(), 0);
  EXPECT_GT(tsc.hits(), 100'000'000) << "a second of each CPU";
  const bool has_machine = std::ranges::any_of(
      profile.processes(), [](const wire::Process& process) { return process.job() == "[machine]"; });
  EXPECT_TRUE(has_machine);
}

TEST(EventFlags, RefuseWhatIsNoEvent) {
  for (const auto& [flag, value] :
       {std::pair("--event", "cycls"), std::pair("--event-set", "cpu-clock,cycls"),
        std::pair("--event", "cpu-clock:0"), std::pair("--turn", "0")}) {
    const Finished once = run({"plimsolld", "--once", "1", "--output", "x.profile", flag, value});
    EXPECT_EQ(once.status, 2) << flag << once.err;
  }
}

}  // namespace
}  // namespace plimsoll::testing
