#include "daemon/machine/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/time.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::identity {
namespace {

// A tree of control groups of a test's own making.
class FakeGroups {
 public:
  void file(const std::string& path, const std::string& content) const {
    const std::filesystem::path whole = folder_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << content;
  }
  // In the unified hierarchy. `group` is "" for the root, else "/a/b".
  void unified(const std::string& group, int64_t usage_ms, const std::string& pids = "",
               const std::string& max = "max 100000") const {
    file(group + "/cgroup.controllers", "cpu memory\n");
    file(group + "/cpu.stat", "usage_usec " + std::to_string(usage_ms * 1000) + "\nuser_usec 1\n");
    file(group + "/cgroup.procs", pids);
    if (!group.empty()) {
      file(group + "/cpu.max", max + "\n");
      file(group + "/cpu.weight", "100\n");
    }
  }
  // In v1's two hierarchies.
  void v1(const std::string& group, int64_t usage_ms, const std::string& pids = "", int64_t quota_us = -1,
          int shares = 1024) const {
    file("cpuacct" + group + "/cpuacct.usage", std::to_string(usage_ms * kNsPerMs) + "\n");
    file("cpuacct" + group + "/cgroup.procs", pids);
    file("cpu" + group + "/cpu.cfs_quota_us", std::to_string(quota_us) + "\n");
    file("cpu" + group + "/cpu.cfs_period_us", "100000\n");
    file("cpu" + group + "/cpu.shares", std::to_string(shares) + "\n");
  }
  void remove(const std::string& group) const { std::filesystem::remove_all(folder_ / group.substr(1)); }
  const std::string& path() const { return folder_.path(); }

 private:
  testing::TemporaryDirectory folder_;
};

class CensusTest : public ::testing::Test {
 protected:
  void process(uint32_t pid, const std::string& executable, const std::string& group) const {
    proc_.process(pid, {.comm = "c", .executable = executable, .cgroup = "0::" + group + "\n", .maps = ""});
  }

  // "job instance quota weight ms": a line for each instance, the busiest first.
  std::string brief(const Result<CensusTaken>& taken) const {
    if (!taken) {
      return taken.error().text();
    }
    std::string text = fmt::format("{} ms\n", taken->interval_ns / kNsPerMs);
    for (const InstanceUsage& usage : taken->instances) {
      text += fmt::format("{} {} {} {} {}\n", usage.job, usage.instance, usage.quota_cpus, usage.weight,
                          usage.cpu_time_ns / kNsPerMs);
    }
    return text;
  }

  FakeProc proc_;
  ProcFs proc_fs_{proc_.root()};
  FakeGroups groups_;
  Census census_{proc_fs_, groups_.path()};
};

TEST_F(CensusTest, TheFirstCensusKnowsNoTimes) {
  process(10, "/usr/bin/db", "/db.slice");
  groups_.unified("", 1000);
  groups_.unified("/db.slice", 700, "10\n");
  EXPECT_EQ(brief(census_.take(5 * kNsPerMs)), "0 ms\n[ungrouped] / 0 0 0\ndb /db.slice 0 100 0\n");
}

TEST_F(CensusTest, TimesAreSinceTheCensusBeforeAndAddUpToTheRoots) {
  process(10, "/usr/bin/db", "/db.slice");
  process(20, "/usr/bin/nginx", "/system.slice/web.service");
  groups_.unified("", 1000);
  groups_.unified("/db.slice", 700, "10\n11\n");
  groups_.unified("/system.slice", 200);
  groups_.unified("/system.slice/web.service", 200, "20\n");
  ASSERT_TRUE(census_.take(0));
  groups_.unified("", 1100);
  groups_.unified("/db.slice", 760, "10\n11\n");
  groups_.unified("/system.slice", 230);
  groups_.unified("/system.slice/web.service", 230, "20\n");
  EXPECT_EQ(brief(census_.take(100 * kNsPerMs)),
            "100 ms\n"
            "db /db.slice 0 100 60\n"
            "web /system.slice/web.service 0 100 30\n"
            "[ungrouped] / 0 0 10\n");
}

TEST_F(CensusTest, TheTightestQuotaOfTheGroupAndThoseAboveHolds) {
  process(10, "/usr/bin/a", "/pod/a");
  process(20, "/usr/bin/b", "/pod/b");
  process(30, "/usr/bin/c", "/free");
  groups_.unified("", 0);
  groups_.unified("/pod", 0, "", "200000 100000");
  groups_.unified("/pod/a", 0, "10\n", "50000 100000");
  groups_.unified("/pod/b", 0, "20\n", "400000 100000");
  groups_.unified("/free", 0, "30\n");
  EXPECT_EQ(brief(census_.take(0)),
            "0 ms\n[ungrouped] / 0 0 0\nc /free 0 100 0\na /pod/a 0.5 100 0\nb /pod/b 2 100 0\n");
}

TEST_F(CensusTest, HybridLayoutsCountInV1) {
  process(10, "/usr/bin/db", "/db");
  groups_.file("unified/cgroup.controllers", "");
  groups_.file("unified/cpu.stat", "usage_usec 1\n");
  groups_.v1("", 500);
  groups_.v1("/db", 100, "10\n", 150'000, 2048);
  ASSERT_TRUE(census_.take(0));
  groups_.v1("", 560);
  groups_.v1("/db", 140, "10\n", 150'000, 2048);
  EXPECT_EQ(brief(census_.take(50 * kNsPerMs)), "50 ms\ndb /db 1.5 200 40\n[ungrouped] / 0 100 20\n");
}

TEST_F(CensusTest, AGroupIsCalledLikeTheProcessThatStartedFirst) {
  const auto started = [&](uint32_t pid, const std::string& executable, int ticks) {
    proc_.process(pid, {.comm = "c",
                        .executable = executable,
                        .cgroup = "0::/wrapped\n",
                        .maps = "",
                        .started_ticks = ticks});
  };
  started(3, "/usr/bin/helper", 900);  // PIDs went round
  started(4, "/usr/bin/helper", 800);
  started(30'000, "/usr/bin/server", 100);
  started(31'000, "/usr/bin/worker", 100);
  groups_.unified("", 0);
  groups_.unified("/wrapped", 0, "31000\n3\n4\n5\n30000\n");
  EXPECT_EQ(brief(census_.take(0)), "0 ms\n[ungrouped] / 0 0 0\nserver /wrapped 0 100 0\n");
}

TEST_F(CensusTest, OfManyProcessesOnlySomeAreAsked) {
  std::string pids;
  for (uint32_t pid = 1000; pid < 1100; ++pid) {
    pids += fmt::format("{}\n", pid);
  }
  const auto started = [&](uint32_t pid, const std::string& executable, int ticks) {
    proc_.process(
        pid,
        {.comm = "c", .executable = executable, .cgroup = "0::/large\n", .maps = "", .started_ticks = ticks});
  };
  started(1000, "/usr/bin/first", 900);
  started(1063, "/usr/bin/asked", 800);
  started(1064, "/usr/bin/not-asked", 100);
  groups_.unified("", 0);
  groups_.unified("/large", 0, pids);
  EXPECT_EQ(brief(census_.take(0)), "0 ms\n[ungrouped] / 0 0 0\nasked /large 0 100 0\n");
}

TEST_F(CensusTest, AGroupOutsideOurPidNamespaceHasTheNameOfAllThatIsOutside) {
  groups_.unified("", 0);
  groups_.unified("/system.slice/web.service", 0, "0\n0\n");
  groups_.unified("/system.slice", 0);
  groups_.unified("/plain", 0, "0\n");
  EXPECT_EQ(brief(census_.take(0)),
            "0 ms\n[ungrouped] / 0 0 0\n[outside] /plain 0 100 0\nweb /system.slice/web.service 0 100 0\n");
}

TEST_F(CensusTest, ContainersAreInstancesOfTheirProgram) {
  const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  process(10, "/usr/bin/redis", "/docker/" + id);
  groups_.unified("", 0);
  groups_.unified("/docker", 0);
  groups_.unified("/docker/" + id, 0, "10\n");
  const auto taken = census_.take(0);
  ASSERT_EQ(taken->instances.size(), 2);
  EXPECT_EQ(taken->instances[1].job, "redis");
  EXPECT_EQ(taken->instances[1].instance, id);
  EXPECT_EQ(taken->instances[1].container, id);
}

TEST_F(CensusTest, AGroupWithProcessesAndGroupsBelowHasItsOwnPart) {
  process(10, "/usr/bin/outer", "/a");
  process(20, "/usr/bin/inner", "/a/b");
  groups_.unified("", 0);
  groups_.unified("/a", 0, "10\n");
  groups_.unified("/a/b", 0, "20\n");
  ASSERT_TRUE(census_.take(0));
  groups_.unified("", 50);
  groups_.unified("/a", 50, "10\n");
  groups_.unified("/a/b", 20, "20\n");
  EXPECT_EQ(brief(census_.take(100 * kNsPerMs)),
            "100 ms\nouter /a 0 100 30\ninner /a/b 0 100 20\n[ungrouped] / 0 0 0\n");
}

TEST_F(CensusTest, NewGroupsBeganWithinTheIntervalAndVanishedOnesFallToTheRoot) {
  process(10, "/usr/bin/old", "/old");
  process(20, "/usr/bin/new", "/new");
  groups_.unified("", 100);
  groups_.unified("/old", 50, "10\n");
  ASSERT_TRUE(census_.take(0));
  groups_.remove("/old");
  groups_.unified("", 140);
  groups_.unified("/new", 25, "20\n");
  EXPECT_EQ(brief(census_.take(100 * kNsPerMs)), "100 ms\nnew /new 0 100 25\n[ungrouped] / 0 0 15\n");
}

TEST_F(CensusTest, ACounterThatFellIsOfAnotherGroup) {
  process(10, "/usr/bin/job", "/job");
  groups_.unified("", 1000);
  groups_.unified("/job", 900, "10\n");
  ASSERT_TRUE(census_.take(0));
  groups_.unified("", 1010);
  groups_.unified("/job", 7, "10\n");
  EXPECT_EQ(brief(census_.take(100 * kNsPerMs)), "100 ms\njob /job 0 100 7\n[ungrouped] / 0 0 3\n");
}

TEST_F(CensusTest, MissingFilesLeaveWhatTheyWouldSayUnknown) {
  process(10, "/usr/bin/job", "/job");
  groups_.file("cgroup.controllers", "");
  groups_.file("cpu.stat", "usage_usec 5000\n");
  groups_.file("job/cpu.stat", "nr_periods 0\nusage_usec 2000\n");
  groups_.file("job/cgroup.procs", "0\n10\nx\n\n");
  groups_.file("nothing/cgroup.procs", "11\n");
  groups_.file("odd/cpu.stat", "usage_usec x\n");
  EXPECT_EQ(brief(census_.take(0)), "0 ms\n[ungrouped] / 0 0 0\njob /job 0 0 0\n");
}

TEST_F(CensusTest, AnUnknownLayoutIsAnErrorThatNamesTheFolder) {
  const auto taken = census_.take(0);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(taken.error().text(), ::testing::HasSubstr(groups_.path()));
}

TEST_F(CensusTest, DamagedLimitsAreNoLimits) {
  process(10, "/usr/bin/job", "/job");
  groups_.unified("", 0);
  for (const char* limit : {"", "max", "5", "5 ", " 100", "-1 100000", "nan nan", "50000 0", "x y"}) {
    groups_.unified("/job", 0, "10\n", limit);
    EXPECT_EQ(brief(Census(proc_fs_, groups_.path()).take(0)),
              "0 ms\n[ungrouped] / 0 0 0\njob /job 0 100 0\n")
        << limit;
  }
}

TEST_F(CensusTest, BoundsHoldAndTimesStillAddUp) {
  Census census(proc_fs_, groups_.path(), {.max_groups = 20, .max_depth = 2, .max_instances = 5});
  const auto make = [&](int64_t usage_ms) {
    groups_.unified("", 100 * usage_ms);
    for (int i = 0; i < 50; ++i) {
      groups_.unified(fmt::format("/g{:02}", i), usage_ms, fmt::format("{}\n", 100 + i));
      groups_.unified(fmt::format("/g{:02}/a/b/c", i), 0, fmt::format("{}\n", 200 + i));
    }
  };
  make(1);
  ASSERT_TRUE(census.take(0));
  make(11);
  const auto taken = census.take(100 * kNsPerMs);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->instances.size(), 6);
  EXPECT_EQ(taken->instances.back().job, kOtherInstances);
  int64_t sum_ns = 0;
  for (const InstanceUsage& usage : taken->instances) {
    sum_ns += usage.cpu_time_ns;
  }
  EXPECT_EQ(sum_ns, 1000 * kNsPerMs);
}

TEST_F(CensusTest, LongNamesDoNotMakeALongHeartbeat) {
  groups_.unified("", 0);
  for (int i = 0; i < 20; ++i) {
    groups_.unified(fmt::format("/{:02}{}", i, std::string(200, 'x')), 0, fmt::format("{}\n", 100 + i));
  }
  Census census(proc_fs_, groups_.path(), {.max_name_bytes = 5'000});
  const auto taken = census.take(0);
  EXPECT_LT(taken->instances.size(), 15);
  EXPECT_EQ(taken->instances.back().instance, kOtherInstances);
}

// Trees that come and go, against the rule itself: all times add up to what the root's counter did.
TEST_F(CensusTest, TimesOfRandomTreesAddUp) {
  std::mt19937_64 random(1);
  std::map<std::string, int64_t> own_ms{{"", 0}};
  int64_t gone_ms = 0;
  const auto write = [&] {
    for (const auto& [group, own] : own_ms) {
      int64_t total = group.empty() ? gone_ms : 0;
      for (const auto& [other, other_own] : own_ms) {
        total += other == group || other.starts_with(group + "/") ? other_own : 0;
      }
      groups_.unified(group, total, fmt::format("{}\n", 10 + random() % 5));
    }
  };
  for (int round = 0; round < 30; ++round) {
    int64_t before = gone_ms;
    for (const auto& [group, own] : own_ms) {
      before += own;
    }
    const std::string group = fmt::format("/{}", random() % 6);
    const std::string below = group + fmt::format("/{}", random() % 3);
    own_ms.try_emplace(group, 0);
    own_ms.try_emplace(below, 0);
    for (auto& [name, own] : own_ms) {
      own += static_cast<int64_t>(random() % 50);
    }
    const std::string victim = fmt::format("/{}", random() % 6);
    for (auto entry = own_ms.begin(); random() % 3 == 0 && entry != own_ms.end();) {
      const bool goes = entry->first == victim || entry->first.starts_with(victim + "/");
      gone_ms += goes ? entry->second : 0;
      entry = goes ? own_ms.erase(entry) : std::next(entry);
    }
    std::error_code ignored;
    std::filesystem::remove_all(groups_.path(), ignored);
    write();
    int64_t after = gone_ms;
    for (const auto& [name, own] : own_ms) {
      after += own;
    }
    const auto taken = census_.take(round * 100 * kNsPerMs);
    ASSERT_TRUE(taken);
    int64_t sum_ns = 0;
    for (const InstanceUsage& usage : taken->instances) {
      sum_ns += usage.cpu_time_ns;
    }
    EXPECT_EQ(sum_ns, round == 0 ? 0 : (after - before) * kNsPerMs) << "round " << round;
  }
}

}  // namespace
}  // namespace plimsoll::identity
