// Processes that come and go by the thousand: every sample belongs to the program, and the control group, that it was
// taken in. Needs the privileges to sample the machine, and root's for control groups and namespaces.
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "base/file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

constexpr std::array<const char*, 4> kPrograms{"alpha", "beta", "gamma", "delta"};

struct Place {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What was sampled in the functions that tell the program.
struct Judged {
  std::map<std::string, uint64_t> right;  // by program
  uint64_t unknown = 0;
  uint64_t outside = 0;  // the PID namespace of the daemon
  uint64_t wrong_program = 0;
  uint64_t wrong_group = 0;
};

// Before Linux 6.14 pid_max is the whole machine's, which a test must not lower.
bool has_pid_max_of_namespaces() {
  utsname system{};
  ::uname(&system);
  int major = 0;
  int minor = 0;
  char dot = 0;
  std::istringstream(system.release) >> major >> dot >> minor;
  return std::pair(major, minor) >= std::pair(6, 14);
}

// How many PIDs were those of several processes.
size_t reused_pids(const wire::RawProfile& profile) {
  std::map<uint32_t, std::set<int64_t>> starts;
  for (const wire::Process& process : profile.processes()) {
    if (process.start_ns() != 0) {
      starts[process.pid()].insert(process.start_ns());
    }
  }
  return static_cast<size_t>(
      std::ranges::count_if(starts, [](const auto& entry) { return entry.second.size() > 2; }));
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

class Storm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    for (const char* name : kPrograms) {
      std::filesystem::copy_file(program("exec_storm"), folder_ / name);
    }
    std::istringstream places(run({"exec_storm", "places"}).out);
    std::string name;
    Place place;
    while (places >> name >> std::hex >> place.begin >> place.end) {
      places_[name] = place;
    }
    ASSERT_EQ(places_.size(), kPrograms.size());
  }

  std::vector<std::string> storm(const std::string& seconds, const std::string& first_pid = "0",
                                 const std::string& groups = "-", const std::string& per_second = "1000",
                                 const std::string& processes = "0") const {
    return {"exec_storm", per_second, seconds, first_pid, groups, folder_.path(), processes};
  }

  // Each page fault is a sample. Of stacks only the leaf matters.
  std::vector<std::string> daemon(const std::string& seconds) const {
    return {"plimsolld", "--once",        seconds, "--event",  "page-faults:1",    "--ring-pages",
            "1024",      "--stack-bytes", "8",     "--output", folder_ / "profile"};
  }

  wire::RawProfile profile() const {
    const auto content = read_file(folder_ / "profile", 1 << 30);
    EXPECT_TRUE(content.has_value());
    auto profile = wire::decode(as_bytes(*content));
    EXPECT_TRUE(profile.has_value()) << profile.error().text();
    return std::move(*profile);
  }

  // The program whose function the leaf of a stack lies in; empty: another place.
  std::string program_at(const wire::RawProfile& profile, uint32_t stack) const {
    if (stack == 0) {
      return {};
    }
    const auto location = static_cast<int>(profile.stacks().location(static_cast<int>(stack) - 1));
    if (profile.locations().kind(location) != wire::ELF) {
      return {};
    }
    const wire::Binary& binary = profile.binaries(static_cast<int>(profile.locations().owner(location)));
    const std::string file = name_of(binary.path());
    if (file != "exec_storm" && !places_.contains(file)) {
      return {};
    }
    const uint64_t address = profile.locations().address(location);
    for (const auto& [name, place] : places_) {
      if (address >= place.begin && address < place.end) {
        return name;
      }
    }
    return {};
  }

  // `groups` is the path above the groups of the programs; empty: they have none.
  Judged judge(const wire::RawProfile& profile, const std::string& groups = {}) const {
    Judged judged;
    const wire::Event& event = profile.events(0);
    std::printf("%.0f produced, %lu hits, %lu lost, %lu not sampled, %lu records of processes lost\n",
                event.counter_total(), event.hits(), event.lost(), event.not_sampled(),
                profile.lost_side_band());
    EXPECT_EQ(static_cast<double>(event.hits() + event.lost() + event.not_sampled()), event.counter_total());
    for (const wire::SampleTable& table : profile.samples()) {
      for (int row = 0; table.event(0) == 0 && row < table.thread_size(); ++row) {
        const auto thread = static_cast<int>(table.thread(row));
        const wire::Process& process = profile.processes(static_cast<int>(profile.threads(thread).process()));
        judged.unknown += process.comm() == "[exited]" ? table.hits(row) : 0;
        judged.outside += process.comm() == "[outside]" ? table.hits(row) : 0;
        const std::string at_work = program_at(profile, table.stack(row));
        if (at_work.empty()) {
          continue;
        }
        if (name_of(process.executable()) != at_work) {
          judged.wrong_program += table.hits(row);
          ADD_FAILURE() << at_work << " under " << process.executable() << ", PID " << process.pid();
        } else {
          judged.right[at_work] += table.hits(row);
        }
        const std::string instance = std::string(groups).append("/").append(at_work);
        judged.wrong_group += !groups.empty() && process.cgroup() != instance ? table.hits(row) : 0;
      }
    }
    for (const char* name : kPrograms) {
      std::printf("%s: %lu samples\n", name, judged.right[name]);
    }
    std::printf("unknown: %lu, outside: %lu\n", judged.unknown, judged.outside);
    return judged;
  }

  void expect_all_right(const Judged& judged) const {
    for (const char* name : kPrograms) {
      EXPECT_GT(judged.right.at(name), 50) << name;  // however busy the machine is with other things
    }
    EXPECT_EQ(judged.wrong_program, 0);
    EXPECT_EQ(judged.wrong_group, 0);
  }

  const TemporaryFolder folder_;
  std::map<std::string, Place> places_;
};

// PLIMSOLL_TEST_EXEC_STORM_SECONDS: how long; scripts/soak.sh makes it longer.
TEST_F(Storm, LeavesNoSampleUnderAnotherProgram) {
  const char* const seconds = std::getenv("PLIMSOLL_TEST_EXEC_STORM_SECONDS");
  const int storm_s = seconds == nullptr ? 5 : std::atoi(seconds);
  Background daemon_running(daemon(std::to_string(storm_s + 1)));
  const Finished finished = run(storm(std::to_string(storm_s)));
  ASSERT_EQ(finished.status, 0) << finished.err;
  std::printf("%s", finished.out.c_str());
  ASSERT_EQ(daemon_running.wait().status, 0) << daemon_running.err();
  expect_all_right(judge(profile()));
}

TEST_F(Storm, WithPidsUsedAgainAtOnce) {
  Background daemon_running(daemon("5"));
  const Finished finished = run(storm("4", "30000"));
  if (finished.err.find("clone3") != std::string::npos) {
    daemon_running.wait();
    GTEST_SKIP() << "this user may not choose PIDs: " << finished.err;
  }
  ASSERT_EQ(finished.status, 0) << finished.err;
  ASSERT_EQ(daemon_running.wait().status, 0) << daemon_running.err();
  expect_all_right(judge(profile()));
}

// The daemon stands still until the rings of records overflow, each CPU's after some 100 processes: then a name may be
// unknown, but not wrong.
TEST_F(Storm, WithRecordsOfProcessesLost) {
  Background daemon_running(daemon("600"));
  wait_until_sampling(daemon_running);
  const std::string enough = std::to_string(std::size_t{500} * std::thread::hardware_concurrency());
  ASSERT_EQ(run(storm("2")).status, 0);
  daemon_running.kill(SIGSTOP);
  ASSERT_EQ(run(storm("2", "0", "-", "1000", enough)).status, 0);
  daemon_running.kill(SIGCONT);
  ASSERT_EQ(run(storm("2")).status, 0);
  daemon_running.kill(SIGINT);
  const Finished finished = daemon_running.wait();
  ASSERT_EQ(finished.status, 0) << finished.err;
  const wire::RawProfile sampled = profile();
  EXPECT_GT(sampled.lost_side_band(), 0);
  EXPECT_NE(finished.out.find("records of processes were lost"), std::string::npos) << finished.out;
  expect_all_right(judge(sampled));
}

// Control groups of this test's own for each program, below the unified hierarchy.
class Groups {
 public:
  Groups() {
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      if (std::filesystem::exists(std::string(mount) + "/cgroup.controllers")) {
        folder_ = mount + path_;
      }
    }
    std::error_code error;
    for (const char* name : kPrograms) {
      made_ = std::filesystem::create_directories(folder_ + "/" + name, error) && !error;
    }
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() {
    for (const char* name : kPrograms) {
      ::rmdir((folder_ + "/" + name).c_str());
    }
    ::rmdir(folder_.c_str());
  }

  bool are_made() const { return made_; }
  const std::string& folder() const { return folder_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_ = "/plimsoll_storm_" + std::to_string(::getpid());
  std::string folder_;
  bool made_ = false;
};

// Each process is in its group from its start on, and gone before /proc could be asked.
TEST_F(Storm, HasTheControlGroupsOfItsSamples) {
  const Groups groups;
  if (!groups.are_made()) {
    GTEST_SKIP() << "this user may not make control groups in the unified hierarchy";
  }
  Background daemon_running(daemon("5"));
  const Finished finished = run(storm("4", "0", groups.folder()));
  ASSERT_EQ(finished.status, 0) << finished.err;
  ASSERT_EQ(daemon_running.wait().status, 0) << daemon_running.err();
  const Judged judged = judge(profile(), groups.path());
  expect_all_right(judged);
}

// Programs that only the storm's own mount namespace holds, under PIDs of its own.
TEST_F(Storm, InNamespacesOfItsOwn) {
  const std::string script =
      "mount -t tmpfs storm \"$1\" && for name in alpha beta gamma delta; do cp \"$0\" \"$1/$name\"; done && "
      "exec \"$0\" 1000 4 0 - \"$1\"";
  const std::string hidden = folder_ / "hidden";
  std::filesystem::create_directory(hidden);
  Background daemon_running(daemon("5"));
  const Finished finished = run({"/usr/bin/unshare", "--mount", "--pid", "--fork", "/bin/sh", "-c", script,
                                 program("exec_storm"), hidden});
  if (finished.status != 0) {
    daemon_running.wait();
    GTEST_SKIP() << "this user may not make namespaces: " << finished.err;
  }
  ASSERT_EQ(daemon_running.wait().status, 0) << daemon_running.err();
  ASSERT_FALSE(std::filesystem::exists(hidden + "/alpha"));
  expect_all_right(judge(profile()));
}

// The daemon and a storm in a PID namespace that has 100 PIDs for all (those below 300 are used once), each used again
// until 1,000 processes have run; outside, another storm of the same programs, whose PIDs mean nothing inside: all are 0 there. Both leave the daemon
// the time to keep up: of a machine that loses records the test could not say whose samples are whose. Where pid_max is the
// machine's, WithPidsUsedAgainAtOnce alone tells how reuse fares.
TEST_F(Storm, InAPidNamespaceOfFewPidsThatTheDaemonIsInToo) {
  if (!has_pid_max_of_namespaces()) {
    GTEST_SKIP() << "before Linux 6.14 PID namespaces have no pid_max of their own";
  }
  // The daemon collects, once it has opened its events, until the storm is over.
  const std::string script =
      "echo 400 > /proc/sys/kernel/pid_max || exit 77; \"$@\" & "
      "until ls -l /proc/$!/fd | grep -q perf_event || ! kill -0 $!; do :; done; "
      "\"$0\" 500 4 0 - " +
      folder_.path() + " 1000 || exit 1; kill -INT $!; wait $!";
  std::vector<std::string> inside{
      "/usr/bin/unshare", "--pid", "--fork", "--kill-child",        "--mount-proc",
      "/bin/sh",          "-c",    script,   program("exec_storm"), program("plimsolld")};
  const auto arguments = daemon("100");
  inside.insert(inside.end(), arguments.begin() + 1, arguments.end());
  const Background outside(storm("100", "0", "-", "100"));
  const Finished finished = run(inside);
  if (finished.status == 77 || finished.err.starts_with("unshare:")) {
    GTEST_SKIP() << "this user may not make PID namespaces: " << finished.err;
  }
  ASSERT_EQ(finished.status, 0) << finished.err;
  const wire::RawProfile sampled = profile();
  const Judged judged = judge(sampled);
  expect_all_right(judged);
  EXPECT_GT(judged.outside, 1000);
  EXPECT_GT(reused_pids(sampled), 50) << "of the 100 that there are";
  EXPECT_NE(finished.out.find("runs in its own PID namespace"), std::string::npos) << finished.out;
}

// Its PIDs are not those that /proc tells of: any name might be another process's.
TEST_F(Storm, IsNotSampledWithAnotherNamespacesProc) {
  const Finished finished = run({"/usr/bin/unshare", "--pid", "--fork", "--kill-child", program("plimsolld"),
                                 "--once", "1", "--output", folder_ / "profile"});
  if (finished.err.starts_with("unshare:")) {
    GTEST_SKIP() << "this user may not make PID namespaces: " << finished.err;
  }
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("/proc belongs to another PID namespace"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace plimsoll::testing
