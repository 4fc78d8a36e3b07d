// Rules at work: profiles and the census call processes alike, and nothing of an environment leaves but what is listed.
#include "capture/identity/workload_namer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/time.h"
#include "capture/profile/profile_builder.h"
#include "daemon/machine/census.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/capture/profile/profile_text.h"

namespace plimsoll::identity {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WorkloadNamerTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const JobRules> rules() {
    config::IdentitySettings settings;
    settings.environment = {"JOB_NAME", "SHARD"};
    settings.labels = {"SHARD"};
    settings.rules.push_back({.environment = "JOB_NAME=(.+)", .job = "$1", .instance = "$1/$SHARD"});
    auto compiled = JobRules::compile(settings);
    EXPECT_TRUE(compiled) << compiled.error().text();
    return std::make_shared<const JobRules>(std::move(*compiled));
  }

  // A process with secrets, that started so long after this machine.
  void process(uint32_t pid, const std::string& job, int64_t started_ns = 10'000'000) {
    proc_.process(pid, {.comm = "c", .executable = "/bin/c", .cgroup = "0::" + group_ + "\n", .maps = ""});
    std::string environ;
    for (const std::string& variable : {std::string("TOKEN=hunter2"), "JOB_NAME=" + job,
                                        std::string("SHARD=7"), std::string("JOB_NAME_SECRET=hunter3")}) {
      environ.append(variable).push_back('\0');
    }
    const std::string folder = std::to_string(pid) + "/";
    proc_.file(folder + "environ", environ);
    proc_.file(folder + "stat", fmt::format("{} (c) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 {} 0 0\n", pid,
                                            started_ns / 10'000'000));
  }

  static std::shared_ptr<ProcessIdentity> identity(uint32_t pid, const std::string& group) {
    auto identity = std::make_shared<ProcessIdentity>();
    identity->pid = pid;
    identity->started_ns = 10'000'000;
    identity->comm = "c";
    identity->executable = "/bin/c";
    identity->cgroup = group;
    return identity;
  }

  // A profile in which this process has a sample.
  wire::RawProfile profile_of(const std::shared_ptr<ProcessIdentity>& identity) {
    ProfileBuilder builder({}, &namer_);
    builder.add_hit(0, builder.thread(builder.process(identity), identity->pid, "c"), 0);
    return finished(builder);
  }

  const std::string group_ = "/system.slice/web.service";
  FakeProc proc_;
  ProcFs proc_fs_{proc_.root()};
  WorkloadNamer namer_{proc_fs_, rules()};
};

TEST_F(WorkloadNamerTest, ProfilesAndTheCensusCallAProcessAlike) {
  process(10, "search");
  const wire::RawProfile profile = profile_of(identity(10, group_));
  EXPECT_EQ(profile.processes(0).job(), "search");
  EXPECT_EQ(profile.processes(0).instance(), "search/7");

  const plimsoll::testing::TemporaryDirectory groups;
  std::filesystem::create_directories(groups / group_.substr(1));
  std::ofstream(groups / "cgroup.controllers") << "cpu\n";
  for (const char* folder : {"", "system.slice/", "system.slice/web.service/"}) {
    std::ofstream(groups / (std::string(folder) + "cpu.stat")) << "usage_usec 5\n";
  }
  std::ofstream(groups / (group_.substr(1) + "/cgroup.procs")) << "10\n";
  Census census(proc_fs_, groups.path(), {}, rules());
  const auto taken = census.take(0);
  ASSERT_TRUE(taken) << taken.error().text();
  const auto found = std::ranges::find(taken->instances, "search", &InstanceUsage::job);
  ASSERT_NE(found, taken->instances.end());
  EXPECT_EQ(found->instance, "search/7");
}

TEST_F(WorkloadNamerTest, NothingOfAnEnvironmentLeavesButWhatIsListed) {
  process(10, "search");
  const wire::RawProfile profile = profile_of(identity(10, group_));
  EXPECT_EQ(profile.processes(0).labels().size(), 1);
  EXPECT_EQ(profile.processes(0).labels().at("SHARD"), "7");
  const std::string bytes = profile.SerializeAsString();
  EXPECT_THAT(bytes, HasSubstr("search"));
  for (const char* secret : {"hunter2", "hunter3", "TOKEN", "SECRET"}) {
    EXPECT_THAT(bytes, Not(HasSubstr(secret)));
  }
}

TEST_F(WorkloadNamerTest, WithoutRulesNoEnvironmentIsRead) {
  process(10, "search");
  WorkloadNamer plain(proc_fs_, nullptr);
  const auto unread = identity(10, group_);
  plain.read_variables(*unread);
  EXPECT_TRUE(unread->environment.empty());
  EXPECT_EQ(plain.name(*unread, group_).job, "web");
}

TEST_F(WorkloadNamerTest, AnotherProcessOfThatPidIsNotRead) {
  const auto ended = identity(10, group_);
  process(10, "later", kNsPerSecond);
  namer_.read_variables(*ended);
  EXPECT_TRUE(ended->environment.empty()) << "of the same program, but started later";
  EXPECT_EQ(namer_.name(*ended, group_).job, "web");
  ended->started_ns = 0;
  namer_.read_variables(*ended);
  EXPECT_TRUE(ended->environment.empty()) << "nobody knows whether it is the same";

  const auto other_program = identity(10, group_);
  other_program->executable = "/bin/other";
  other_program->started_ns = kNsPerSecond;
  namer_.read_variables(*other_program);
  EXPECT_TRUE(other_program->environment.empty());
}

TEST_F(WorkloadNamerTest, VariablesAreReadAgainUntilThereAreSome) {
  proc_.process(10, {.comm = "c", .executable = "/bin/c", .cgroup = "", .maps = "", .started_ticks = 1});
  const auto starting = identity(10, group_);
  EXPECT_EQ(profile_of(starting).processes(0).job(), "web") << "its exec is still under way";
  proc_.gone(10);
  process(10, "search");
  EXPECT_EQ(profile_of(starting).processes(0).job(), "search");
  proc_.gone(10);
  EXPECT_EQ(profile_of(starting).processes(0).job(), "search") << "read once";
}

TEST_F(WorkloadNamerTest, ManyProcessesAreNamedEachByItsOwnFacts) {
  for (int i = 0; i < 25'000; ++i) {
    const auto process = identity(1, fmt::format("/system.slice/job{}.service", i % 12'000));
    EXPECT_EQ(namer_.name(*process, process->cgroup).job, fmt::format("job{}", i % 12'000));
  }
}

TEST(CensusWithRules, GroupsOfOneNameAreOneInstance) {
  FakeProc proc;
  const plimsoll::testing::TemporaryDirectory groups;
  const auto group = [&](const std::string& path, int64_t usage_us, const std::string& pids,
                         const std::string& max) {
    std::filesystem::create_directories(groups / path);
    std::ofstream(groups / (path + "/cpu.stat")) << "usage_usec " << usage_us << "\n";
    std::ofstream(groups / (path + "/cgroup.procs")) << pids;
    std::ofstream(groups / (path + "/cpu.max")) << max;
    std::ofstream(groups / (path + "/cpu.weight")) << "100\n";
  };
  std::ofstream(groups / "cgroup.controllers") << "cpu\n";
  const auto usage_us = [&](int64_t root, int64_t first, int64_t second) {
    std::ofstream(groups / "cpu.stat") << "usage_usec " << root << "\n";
    group("pods", first + second, "", "200000 100000");
    group("pods/a", first, "10\n", "max 100000");
    group("pods/b", second, "20\n", "max 100000");
  };
  for (const uint32_t pid : {10U, 20U}) {
    proc.process(pid, {.comm = "c", .executable = "/bin/c", .cgroup = "0::/pods/x\n", .maps = ""});
  }
  const ProcFs proc_fs(proc.root());
  config::IdentitySettings settings;
  settings.rules.push_back({.cgroup = "^/pods/", .job = "pod", .instance = "one"});
  auto rules = JobRules::compile(settings);
  ASSERT_TRUE(rules) << rules.error().text();
  Census census(proc_fs, groups.path(), {}, std::make_shared<const JobRules>(std::move(*rules)));
  usage_us(0, 0, 0);
  ASSERT_TRUE(census.take(0));
  usage_us(10'000, 3000, 4000);
  const auto taken = census.take(1'000'000);
  ASSERT_TRUE(taken) << taken.error().text();
  ASSERT_EQ(taken->instances.size(), 2);
  EXPECT_EQ(taken->instances[0].instance, "one");
  EXPECT_EQ(taken->instances[0].cpu_time_ns, 7'000'000);
  EXPECT_EQ(taken->instances[0].quota_cpus, 2) << "which both share";
  EXPECT_EQ(taken->instances[0].weight, 200);
}

}  // namespace
}  // namespace plimsoll::identity
