// Time off the CPU, on the machine that runs the tests, against what a program knows of itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "daemon/events/tracepoints.h"
#include "proto/profile_codec.h"
#include "query/table/table.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tracing_files.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class OffCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
};

// What a thread had used at a moment.
struct Moment {
  double time_ns = 0;
  double cpu_ns = 0;
  double runnable_ns = 0;
};
using Journals = std::map<std::string, std::vector<Moment>>;

Journals journals_of(const std::string& printed) {
  Journals journals;
  std::istringstream lines(printed);
  std::string name;
  Moment moment;
  while (lines >> name >> moment.time_ns >> moment.cpu_ns >> moment.runnable_ns) {
    journals[name].push_back(moment);
  }
  return journals;
}

// By a straight line between the moments before and after.
Moment at(const std::vector<Moment>& journal, double time_ns) {
  const auto after = std::ranges::lower_bound(journal, time_ns, {}, &Moment::time_ns);
  if (after == journal.begin() || after == journal.end()) {
    ADD_FAILURE() << "the program did not run throughout the window";
    return {};
  }
  const Moment& before = *(after - 1);
  const double share = (time_ns - before.time_ns) / (after->time_ns - before.time_ns);
  return {.time_ns = time_ns,
          .cpu_ns = before.cpu_ns + share * (after->cpu_ns - before.cpu_ns),
          .runnable_ns = before.runnable_ns + share * (after->runnable_ns - before.runnable_ns)};
}

struct Waits {
  double off_ns = 0;
  double runnable_ns = 0;
};

Waits known_waits(const std::vector<Moment>& journal, const wire::RawProfile& profile) {
  const auto start = at(journal, static_cast<double>(profile.window().start().monotonic_ns()));
  const auto end = at(journal, static_cast<double>(profile.window().end().monotonic_ns()));
  return {.off_ns = end.time_ns - start.time_ns - (end.cpu_ns - start.cpu_ns),
          .runnable_ns = end.runnable_ns - start.runnable_ns};
}

std::optional<size_t> index_of(const wire::RawProfile& profile, std::string_view event) {
  for (int i = 0; i < profile.events_size(); ++i) {
    if (profile.events(i).name() == event) {
      return static_cast<size_t>(i);
    }
  }
  return std::nullopt;
}

// An event's values by the names of a process's threads.
std::map<std::string, double> values_of(const wire::RawProfile& profile, std::string_view event, pid_t pid) {
  std::map<std::string, double> values;
  const auto index = index_of(profile, event);
  if (!index) {
    ADD_FAILURE() << event << " was not collected";
    return values;
  }
  const double scale = wire::scale_of(profile.events(static_cast<int>(*index)));
  for (const wire::SampleTable& table : profile.samples()) {
    for (int row = 0; table.event(0) == *index && row < table.hits_size(); ++row) {
      const wire::Thread& thread = profile.threads(static_cast<int>(table.thread(row)));
      if (profile.processes(static_cast<int>(thread.process())).pid() == static_cast<uint32_t>(pid)) {
        values[thread.name()] += static_cast<double>(table.hits(row)) * scale;
      }
    }
  }
  return values;
}

std::string missing_reason(const wire::RawProfile& profile, const std::string& name) {
  for (const wire::MissingEvent& missing : profile.missing_events()) {
    if (missing.name() == name) {
      return missing.reason();
    }
  }
  return {};
}

wire::RawProfile collect(const std::string& output, const std::vector<std::string>& options) {
  std::vector<std::string> command{"plimsolld", "--once", "4", "--output", output};
  command.insert(command.end(), options.begin(), options.end());
  const Finished once = run(command);
  EXPECT_EQ(once.status, 0) << once.err;
  const auto content = read_file(output, 1 << 30);
  auto profile = content ? wire::decode(as_bytes(*content)) : propagate(content);
  EXPECT_TRUE(profile.has_value()) << profile.error().text();
  return profile.value_or(wire::RawProfile());
}

// Of the program, from `top`: the part of its time off the CPU in which each function was on the stack.
std::map<std::string, double> shares_of_functions(const std::string& data) {
  const Finished top = run({"plimsoll", "top", "--data", data, "--event", "off-cpu-ns", "--where",
                            "app=known_waits", "--limit", "1000", "--json"});
  EXPECT_EQ(top.status, 0) << top.err;
  const auto table = query::from_json(top.out);
  EXPECT_TRUE(table.has_value()) << top.out;
  std::map<std::string, double> shares;
  double sum = 0;
  for (const auto& row : table->rows) {
    sum += std::get<double>(row[1]);
  }
  for (const auto& row : table->rows) {
    shares[std::get<std::string>(row[0])] = std::get<double>(row[query::column_of(*table, "total")]) / sum;
  }
  return shares;
}

constexpr double kTolerance = 0.03;

TEST_F(OffCpu, OfKnownSleepsReadsAndLocksIsWithinThreePercent) {
  const TemporaryFolder folder;
  Background load({"known_waits", "12", "waits"});
  const pid_t pid = load.pid();  // none once it has ended
  const auto profile = collect(folder / "profile", {"--event", "off-cpu-ns", "--event", "context-switches:1",
                                                    "--event", "cpu-clock", "--rate", "99"});
  const Journals journals = journals_of(load.wait().out);
  auto measured = values_of(profile, "off-cpu-ns", pid);
  std::map<std::string, Waits> known;
  for (const auto& [thread, journal] : journals) {
    known[thread] = known_waits(journal, profile);
    std::printf("%s: off the CPU %.4f s, %.4f s measured\n", thread.c_str(), known[thread].off_ns / 1e9,
                measured[thread] / 1e9);
    EXPECT_NEAR(measured[thread] / known[thread].off_ns, 1, kTolerance) << thread;
  }
  const Finished imported = run(
      {"plimsoll", "import", "--data", folder / "data", "--symbol-root", built_file(), folder / "profile"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  auto shares = shares_of_functions(folder / "data");
  double measured_sum = 0;
  for (const auto& [thread, value] : measured) {
    measured_sum += value;
  }
  const std::map<std::string, std::string> functions{
      {"sleeper", "sleep_known"}, {"reader", "read_known"}, {"locker", "lock_known"}};
  for (const auto& [thread, function] : functions) {
    // Outside of that function a thread is off the CPU where it is preempted: it could run then.
    const auto& [off_ns, runnable_ns] = known[thread];
    EXPECT_LE(shares[function] * measured_sum, off_ns * (1 + kTolerance)) << function;
    EXPECT_GE(shares[function] * measured_sum, off_ns * (1 - 2 * kTolerance) - runnable_ns) << function;
  }
}

TEST_F(OffCpu, OfThreadsThatWaitForACpuIsRunnable) {
  if (const std::string why = why_no_tracepoints(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const TemporaryFolder folder;
  Background load({"known_waits", "12", "waits"});
  const pid_t pid = load.pid();  // none once it has ended
  const auto profile = collect(folder / "profile", {"--event", "runnable-ns", "--event", "cpu-clock"});
  const Journals journals = journals_of(load.wait().out);
  auto measured = values_of(profile, "runnable-ns", pid);
  for (const char* thread : {"spinner-0", "spinner-1"}) {
    ASSERT_TRUE(journals.contains(thread));
    const double known = known_waits(journals.at(thread), profile).runnable_ns;
    std::printf("%s: runnable %.4f s, %.4f s measured\n", thread, known / 1e9, measured[thread] / 1e9);
    EXPECT_NEAR(measured[thread] / known, 1, kTolerance) << thread;
  }
}

TEST_F(OffCpu, SaysWhatNeedsTheTracingFileSystemWhereItIsNotThere) {
  if (perf::find_tracefs("/sys")) {
    GTEST_SKIP() << "the tracing file system is mounted";
  }
  const TemporaryFolder folder;
  const auto profile = collect(folder / "profile", {"--event", "off-cpu-ns", "--event", "runnable-ns",
                                                    "--event", "kernel-lock-wait-ns"});
  EXPECT_TRUE(index_of(profile, "off-cpu-ns"));
  EXPECT_THAT(missing_reason(profile, "runnable-ns"), HasSubstr("tracing file system"));
  EXPECT_THAT(missing_reason(profile, "kernel-lock-wait-ns"), HasSubstr("tracing file system"));
}

// Alone for as long as together: CPU time is three parts, latency two, one of which is alone.
TEST_F(OffCpu, LatencyOfKnownPhasesIsDividedByThreadsThatRun) {
  if (machine_is_busy()) {
    GTEST_SKIP() << "others take the CPUs that the phases need";
  }
  const TemporaryFolder folder;
  Background load({"known_waits", "8", "phases"});
  const pid_t pid = load.pid();  // none once it has ended
  const auto profile = collect(folder / "profile", {"--event", "cpu-latency-ns", "--rate", "999"});
  load.wait();
  auto cpu = values_of(profile, "cpu-clock", pid);
  auto latency = values_of(profile, "cpu-latency-ns", pid);
  const double second_cpu = cpu["second"];
  const double first_cpu = cpu["known_waits"];
  std::printf("CPU %.3f and %.3f s, latency %.3f and %.3f s\n", first_cpu / 1e9, second_cpu / 1e9,
              latency["known_waits"] / 1e9, latency["second"] / 1e9);
  ASSERT_GT(second_cpu, 0);
  // Some 4,000 samples of the first thread, 2,000 of the second: three standard errors are under 7 %.
  EXPECT_NEAR(latency["second"] / second_cpu, 0.5, 0.05);
  EXPECT_NEAR(latency["known_waits"] / first_cpu, 0.75, 0.05);
}

}  // namespace
}  // namespace plimsoll::testing
