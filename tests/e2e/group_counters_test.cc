// Events counted exactly for chosen control groups, against what the kernel says of the same processes by other means. Needs
// the privileges to sample the machine and to make control groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "capture/identity/cgroup_folder.h"
#include "capture/identity/cgroup_table.h"
#include "daemon/exact_counts.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

// In the hierarchy that perf events belong to.
class PerfGroup {
 public:
  explicit PerfGroup(const std::string& name)
      : path_(name.starts_with('/') ? name : fmt::format("/plimsoll_{}_{}", name, ::getpid())),
        folder_(identity::CgroupTable("/sys/fs/cgroup").root() + path_) {
    std::error_code error;
    made_ = folder_ != path_ && std::filesystem::create_directory(folder_, error);
  }
  PerfGroup(const PerfGroup&) = delete;
  PerfGroup& operator=(const PerfGroup&) = delete;
  ~PerfGroup() { ::rmdir(folder_.c_str()); }

  bool is_made() const { return made_; }
  bool has_processes() const { return !identity::processes_in_group(folder_).empty(); }
  const std::string& path() const { return path_; }

  // The command, in this group from its start on.
  std::vector<std::string> with(const std::string& command) const {
    return {"/bin/sh", "-c", fmt::format("echo $$ > {}/cgroup.procs && {}", folder_, command)};
  }
  std::vector<std::string> busy(int seconds) const {
    return with(fmt::format("exec {} {} work", program("known_split"), seconds));
  }
  // Likewise, once somebody has opened the pipe to write.
  std::vector<std::string> busy_after(const std::string& pipe, int seconds) const {
    return with(fmt::format("read line < {}; exec {} {} work", pipe, program("known_split"), seconds));
  }

  // CPU time of the processes in it and below, which ended ones keep; nothing in v1's hierarchies.
  std::optional<double> usage_ns() const {
    constexpr std::string_view kField = "usage_usec ";
    const std::string stat = read_file(folder_ + "/cpu.stat", 4096).value_or(std::string());
    const size_t at = stat.find(kField);
    double usec = 0;
    if (at == std::string::npos ||
        std::from_chars(stat.data() + at + kField.size(), stat.data() + stat.size(), usec).ec !=
            std::errc()) {
      return std::nullopt;
    }
    return usec * 1000;
  }

 private:
  std::string path_;
  std::string folder_;
  bool made_ = false;
};

// Values of an event by instance.
std::map<std::string, double> by_instance(const wire::RawProfile& profile, std::string_view event) {
  std::map<std::string, double> values;
  for (const wire::SampleTable& table : profile.samples()) {
    const wire::Event& description = profile.events(static_cast<int>(table.event(0)));
    for (int row = 0; row < table.thread_size() && description.name() == event; ++row) {
      const auto process = profile.threads(static_cast<int>(table.thread(row))).process();
      values[profile.processes(static_cast<int>(process)).instance()] +=
          static_cast<double>(table.hits(row)) * wire::scale_of(description);
    }
  }
  return values;
}

std::vector<std::string> missing(const wire::RawProfile& profile, std::string_view event) {
  std::vector<std::string> reasons;
  for (const wire::MissingEvent& absent : profile.missing_events()) {
    if (absent.name() == event) {
      reasons.push_back(absent.reason());
    }
  }
  return reasons;
}

class GroupCounts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    if (!a_.is_made() || !b_.is_made()) {
      GTEST_SKIP() << "this user may not make control groups that perf events belong to";
    }
  }

  // Of this test's own groups, in this process.
  std::unique_ptr<WindowCounts> counts_of(std::vector<std::string> events) const {
    const auto settings = compile_exact_counts(
        {.groups = {fmt::format("^/plimsoll_.*{}", ::getpid())}, .events = std::move(events)});
    EXPECT_TRUE(settings.has_value()) << settings.error().text();
    return exact_counts(*settings, {}, LiveEvents(), proc_fs_, nullptr);
  }
  static wire::RawProfile finish(WindowCounts& counts) {
    wire::RawProfile profile;
    ProfileBuilder builder;
    counts.add_to(profile, builder);
    builder.finish(profile);
    return profile;
  }

  const PerfGroup a_{"a"};
  const PerfGroup b_{"b"};
  const identity::ProcFs proc_fs_;
  const TemporaryFolder folder_;
};

// Time that a virtual machine's host gave to others while a CPU had something to do: a task's clock goes on, and no group is
// charged for it.
double stolen_ns() {
  std::istringstream stat(read_file("/proc/stat", 1 << 20).value_or(std::string()));
  std::string cpu;
  std::array<double, 8> ticks{};  // user, nice, system, idle, iowait, irq, softirq, steal
  stat >> cpu;
  for (double& count : ticks) {
    stat >> count;
  }
  return ticks.back() * 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

TEST_F(GroupCounts, HaveTheCpuTimeThatTheKernelAccountsToEachGroup) {
  const PerfGroup inner(a_.path() + "/inner");
  ASSERT_TRUE(inner.is_made());
  if (!a_.usage_ns()) {
    GTEST_SKIP() << "no CPU time is accounted to groups of this hierarchy";
  }
  const std::vector<std::string> pipes{folder_ / "1", folder_ / "2", folder_ / "3"};
  for (const std::string& pipe : pipes) {
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  }
  Background load_of_a(a_.busy_after(pipes[0], 1));
  Background load_of_b(b_.busy_after(pipes[1], 2));
  Background load_of_inner(inner.busy_after(pipes[2], 2));
  ASSERT_TRUE(eventually([&] { return a_.has_processes() && b_.has_processes() && inner.has_processes(); }));
  const auto counts = counts_of({"task-clock"});
  counts->start();
  const double a_before = *a_.usage_ns();
  const double b_before = *b_.usage_ns();
  const double inner_before = *inner.usage_ns();
  const double stolen_before_ns = stolen_ns();
  for (const std::string& pipe : pipes) {
    const std::ofstream go(pipe);
  }
  for (Background* load : {&load_of_a, &load_of_b, &load_of_inner}) {
    ASSERT_EQ(load->wait().status, 0);
  }
  const double stolen = stolen_ns() - stolen_before_ns;
  const double inner_ns = *inner.usage_ns() - inner_before;
  const std::map<std::string, double> expected{{a_.path(), *a_.usage_ns() - a_before - inner_ns},
                                               {b_.path(), *b_.usage_ns() - b_before},
                                               {inner.path(), inner_ns}};
  const wire::RawProfile profile = finish(*counts);
  auto counted = by_instance(profile, "exact-task-clock");
  EXPECT_EQ(counted.size(), 3);
  for (const auto& [group, ns] : expected) {
    std::printf("%s: %.4f s accounted, %.4f s counted, %.2f s stolen\n", group.c_str(), ns / 1e9,
                counted[group] / 1e9, stolen / 1e9);
    EXPECT_GE(counted[group], 0.97 * ns);
    EXPECT_LE(counted[group], 1.03 * ns + stolen);
  }
  EXPECT_THAT(missing(profile, "exact-task-clock"), ElementsAre());
}

rusage usage_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage;
}

// Of short programs, one after the other: each starts with faults, and its end is waited for.
TEST_F(GroupCounts, HaveTheFaultsAndSwitchesThatTheKernelAccountsToTheProcesses) {
  const Background holder(a_.with("exec sleep 1000"));  // a group without processes is not chosen
  ASSERT_TRUE(eventually([&] { return a_.has_processes(); }));
  const auto counts = counts_of({"page-faults", "context-switches"});
  counts->start();
  const rusage before = usage_of_children();
  const Finished programs = run(a_.with("i=0; while [ $i -lt 500 ]; do /bin/sleep 0; i=$((i+1)); done"));
  const rusage after = usage_of_children();
  ASSERT_EQ(programs.status, 0) << programs.err;
  const wire::RawProfile profile = finish(*counts);
  const auto faults =
      static_cast<double>(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt);
  const auto switches =
      static_cast<double>(after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
  const double counted_faults = by_instance(profile, "exact-page-faults")[a_.path()];
  const double counted_switches = by_instance(profile, "exact-context-switches")[a_.path()];
  std::printf("%.0f faults accounted, %.0f counted; %.0f switches accounted, %.0f counted\n", faults,
              counted_faults, switches, counted_switches);
  // The shell has some before it is in the group.
  EXPECT_NEAR(counted_faults, faults, 0.03 * faults);
  EXPECT_NEAR(counted_switches, switches, 0.1 * switches);
}

TEST_F(GroupCounts, OverTheBudgetSayWhoWasLeftOut) {
  const Background load_of_a(a_.busy(100));
  const Background load_of_b(b_.busy(100));
  ASSERT_TRUE(eventually([&] { return a_.has_processes() && b_.has_processes(); }));
  const auto cpus = PerfGroupCounters().cpus();
  ASSERT_TRUE(cpus.has_value());
  const Finished once = run({"plimsolld", "--once", "1", "--output", folder_ / "profile", "--count-group",
                             a_.path() + "$", "--count-group", b_.path() + "$", "--count-event", "task-clock",
                             "--count-fds", std::to_string(cpus->size())});
  ASSERT_EQ(once.status, 0) << once.err;
  const auto profile = wire::decode(as_bytes(read_file(folder_ / "profile", 1 << 30).value_or("")));
  ASSERT_TRUE(profile.has_value()) << profile.error().text();
  EXPECT_THAT(by_instance(*profile, "exact-task-clock"), ElementsAre(Pair(a_.path(), ::testing::Gt(0))));
  EXPECT_THAT(
      missing(*profile, "exact-task-clock"),
      ElementsAre(fmt::format(
          "not counted for {}: the 2 matching groups need {} file descriptors, and count.max_fds is {}",
          b_.path(), 2 * cpus->size(), cpus->size())));
  EXPECT_THAT(once.out, HasSubstr("exact-task-clock: not collected: not counted for " + b_.path()));
}

// From the configuration, which is read again, to the ratio that a server answers with.
TEST_F(GroupCounts, FollowTheConfigurationAndTheGroupsThatComeLater) {
  TestServer server(folder_ / "data", "[collect]\nwindow = \"1s\"\n[fleet]\nheartbeat = \"100ms\"\n");
  ASSERT_TRUE(server.becomes_ready());
  const auto configure = [&](const std::string& count) {
    std::ofstream(folder_ / "daemon.toml") << fmt::format(
        "[daemon]\nserver = \"{}\"\n[machine]\nid = \"m1\"\n{}", server.fleet_address(), count);
  };
  const auto arrives = [&](const std::string& instance) {
    return eventually(
        [&] {
          const auto profiles = archived_in(folder_ / "data");
          return std::ranges::any_of(profiles, [&](const wire::RawProfile& profile) {
            return by_instance(profile, "exact-task-clock").contains(instance);
          });
        },
        std::chrono::milliseconds(100));
  };
  configure("");
  const Background load_of_a(a_.busy(200));
  Background daemon({"plimsolld", "--config", folder_ / "daemon.toml"});
  ASSERT_TRUE(
      eventually([&] { return !archived_in(folder_ / "data").empty(); }, std::chrono::milliseconds(100)))
      << daemon.err();
  for (const wire::RawProfile& profile : archived_in(folder_ / "data")) {
    EXPECT_THAT(by_instance(profile, "exact-task-clock"), Not(Contains(Key(a_.path()))));
  }
  configure(fmt::format("[count]\ngroups = ['^/plimsoll_._{}$']\nevents = ['task-clock', 'page-faults']\n",
                        ::getpid()));
  daemon.kill(SIGHUP);
  ASSERT_TRUE(arrives(a_.path())) << daemon.err();
  const Background load_of_b(b_.with("while :; do /bin/true; done"));
  ASSERT_TRUE(arrives(b_.path())) << daemon.err();
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
  ASSERT_TRUE(eventually([&] {
    const Stored stored = stored_in(folder_ / "data");
    return stored.built == stored.accepted;
  }));
  const query::Table ratio = top({"--server", server.address(), "--ratio",
                                  "exact-page-faults/exact-task-clock", "--by", "job,instance"});
  std::map<std::string, double> faults_per_ns;
  for (const auto& row : ratio.rows) {
    if (const double* const value = std::get_if<double>(&row[2])) {
      faults_per_ns[std::get<std::string>(row[1])] = *value;
    }
  }
  EXPECT_GT(faults_per_ns[b_.path()], 1e-6) << "it starts programs all the time";
  EXPECT_EQ(ratio.event, "exact-page-faults/exact-task-clock");
}

}  // namespace
}  // namespace plimsoll::testing
