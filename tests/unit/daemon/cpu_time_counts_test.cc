// CPU time of instances between the two ends of a window.
#include "daemon/window_counts/cpu_time_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kMs = 1'000'000;

class CpuTimeCountsTest : public ::testing::Test {
 protected:
  CpuTimeCountsTest() {
    const std::string shop = "/system.slice/shop.service";
    proc_.process(10, {.comm = "c", .executable = "/bin/shop", .cgroup = "0::" + shop + "\n", .maps = ""});
    proc_.process(20, {.comm = "c", .executable = "/bin/db", .cgroup = "0::/db\n", .maps = ""});
    std::string environ = "SHARD=7";
    proc_.file("10/environ", environ.append(1, '\0'));
  }

  // Usage of the groups in milliseconds.
  void used(int64_t root, int64_t shop, int64_t db) const {
    std::filesystem::create_directories(groups_ / "system.slice/shop.service");
    std::filesystem::create_directories(groups_ / "db");
    std::ofstream(groups_ / "cgroup.controllers") << "cpu\n";
    for (const auto& [group, usage] : {std::pair("", root), std::pair("system.slice/", shop),
                                       std::pair("system.slice/shop.service/", shop), std::pair("db/", db)}) {
      std::ofstream(groups_ / (std::string(group) + "cpu.stat")) << "usage_usec " << usage * 1000 << "\n";
    }
    std::ofstream(groups_ / "system.slice/shop.service/cgroup.procs") << "10\n";
    std::ofstream(groups_ / "db/cgroup.procs") << "20\n";
  }

  static std::shared_ptr<const identity::JobRules> rules() {
    config::IdentitySettings settings;
    settings.environment = {"SHARD"};
    settings.labels = {"SHARD"};
    settings.rules.push_back({.unit = "^shop", .instance = "shop $SHARD", .image = "registry/shop"});
    auto compiled = identity::JobRules::compile(settings);
    EXPECT_TRUE(compiled) << compiled.error().text();
    return std::make_shared<const identity::JobRules>(std::move(*compiled));
  }

  static wire::RawProfile finish(CpuTimeCounts& counts) {
    wire::RawProfile profile;
    ProfileBuilder builder;
    counts.add_to(profile, builder);
    builder.finish(profile);
    return profile;
  }

  // Milliseconds by instance.
  static std::map<std::string, uint64_t> by_instance(const wire::RawProfile& profile) {
    std::map<std::string, uint64_t> times;
    for (const wire::SampleTable& table : profile.samples()) {
      for (int row = 0; row < table.thread_size(); ++row) {
        EXPECT_EQ(table.stack(row), 0);
        const auto process = profile.threads(static_cast<int>(table.thread(row))).process();
        times[profile.processes(static_cast<int>(process)).instance()] += table.hits(row) / kMs;
      }
    }
    return times;
  }

  const identity::FakeProc proc_;
  const identity::ProcFs proc_fs_{proc_.root()};
  const testing::TemporaryDirectory groups_;
  CpuTimeCounts counts_{proc_fs_, rules(), groups_.path()};
};

TEST_F(CpuTimeCountsTest, AreWhatEachInstanceHadWithinTheWindow) {
  used(1000, 500, 300);
  counts_.start();
  used(1100, 560, 330);
  const wire::RawProfile profile = finish(counts_);
  EXPECT_THAT(by_instance(profile), ElementsAre(Pair("/", 10), Pair("/db", 30), Pair("shop 7", 60)));
  ASSERT_EQ(profile.events_size(), 1);
  EXPECT_EQ(profile.events(0).name(), "cpu-time");
  EXPECT_EQ(profile.events(0).unit(), wire::NANOSECONDS);
  EXPECT_EQ(profile.events(0).kind(), wire::DELTA);
  EXPECT_EQ(profile.events(0).hits(), 100 * kMs);
  EXPECT_EQ(profile.events(0).counter_total(), 100.0 * kMs);
  EXPECT_EQ(profile.events(0).samples(), 3);
}

TEST_F(CpuTimeCountsTest, EachWindowBeginsAnew) {
  used(1000, 500, 300);
  counts_.start();
  used(1100, 560, 330);
  finish(counts_);
  used(5000, 4000, 900);
  counts_.start();
  used(5070, 4050, 900);
  EXPECT_THAT(by_instance(finish(counts_)), ElementsAre(Pair("/", 20), Pair("shop 7", 50)))
      << "an instance that had none has no row";
}

TEST_F(CpuTimeCountsTest, SayOfAnInstanceAllThatItsSamplesWould) {
  used(0, 0, 0);
  counts_.start();
  used(100, 100, 0);
  const wire::RawProfile profile = finish(counts_);
  ASSERT_EQ(profile.processes_size(), 1);
  const wire::Process& process = profile.processes(0);
  EXPECT_EQ(process.job(), "shop");
  EXPECT_EQ(process.instance(), "shop 7");
  EXPECT_EQ(process.image(), "registry/shop");
  EXPECT_EQ(process.executable(), "/bin/shop");
  EXPECT_EQ(process.comm(), "c");
  EXPECT_EQ(process.cgroup(), "/system.slice/shop.service");
  ASSERT_EQ(process.labels().size(), 1);
  EXPECT_EQ(process.labels().at("SHARD"), "7");
}

TEST_F(CpuTimeCountsTest, WithoutControlGroupsTheEventIsMissing) {
  counts_.start();
  used(100, 100, 0);
  const wire::RawProfile profile = finish(counts_);
  EXPECT_THAT(profile.events(), IsEmpty()) << "nothing is known of the window's start";
  ASSERT_EQ(profile.missing_events_size(), 1);
  EXPECT_EQ(profile.missing_events(0).name(), "cpu-time");
  EXPECT_THAT(profile.missing_events(0).reason(), ::testing::HasSubstr(groups_.path()));
}

}  // namespace
}  // namespace plimsoll
