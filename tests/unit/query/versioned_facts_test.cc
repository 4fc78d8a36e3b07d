// What a machine is changes over time: rows keep what it was when they were taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/operations/machines.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int64_t kYesterdayNs = 1'700'000'000'000'000'000;

// One machine: yesterday as it was, today upgraded.
class VersionedFacts : public ::testing::Test {
 protected:
  VersionedFacts() {
    wire::RawProfile yesterday = make_profile({.seed = 1, .from_ns = kYesterdayNs, .stacks = "main 3\n"});
    describe(*yesterday.mutable_machine(), "6.1.0-17", "beef", "Debian 12", "0.1.0");
    fleet_.add(yesterday);
    wire::RawProfile today =
        make_profile({.seed = 2, .from_ns = kYesterdayNs + kDayNs, .stacks = "main 40\n"});
    describe(*today.mutable_machine(), "6.12.1", "cafe", "Debian 13", "0.1.0");
    fleet_.add(today);
    wire::RawProfile later =
        make_profile({.seed = 3, .from_ns = kYesterdayNs + 2 * kDayNs, .stacks = "main 500\n"});
    describe(*later.mutable_machine(), "6.12.1", "cafe", "Debian 13", "0.2.0");
    fleet_.add(later);
  }

  static void describe(wire::Machine& machine, const std::string& kernel, const std::string& kernel_build_id,
                       const std::string& os, const std::string& daemon_version) {
    machine.set_kernel_release(kernel);
    machine.set_kernel_build_id(kernel_build_id);
    machine.set_os(os);
    machine.set_daemon_version(daemon_version);
    machine.set_platform("AMD Zen 3");
    machine.set_cpu_model("EPYC 7763");
  }

  std::string ask(const Parameters& parameters) const { return brief(fleet_.top(parameters)); }

  Fleet fleet_;
};

TEST_F(VersionedFacts, RowsKeepTheKernelThatRanThen) {
  EXPECT_EQ(ask({{"by", "kernel"}}), "6.12.1 540 540\n6.1.0-17 3 3\n");
  EXPECT_EQ(ask({{"by", "machine"}, {"where", "kernel=6.1.0-17"}}), "m1 3 3\n");
  EXPECT_EQ(ask({{"by", "machine"}, {"where", "kernel!=6.1.0-17"}}), "m1 540 540\n");
  EXPECT_EQ(ask({{"by", "kernel,kernel_build_id"}}), "6.12.1 63616665 540 540\n6.1.0-17 62656566 3 3\n");
}

TEST_F(VersionedFacts, OperatingSystemAndDaemonAreVersionsToo) {
  EXPECT_EQ(ask({{"by", "os"}}), "Debian 13 540 540\nDebian 12 3 3\n");
  EXPECT_EQ(ask({{"by", "daemon_version"}}), "0.2.0 500 500\n0.1.0 43 43\n");
  EXPECT_EQ(ask({{"by", "daemon_version"}, {"where", "os=~^Debian 1[0-2]$"}}), "0.1.0 3 3\n");
}

TEST_F(VersionedFacts, AllVersionsAreOneMachine) {
  EXPECT_EQ(ask({{"by", "machine"}}), "m1 543 543\n");
  EXPECT_EQ(ask({{"by", "platform,cpu_model"}}), "AMD Zen 3 EPYC 7763 543 543\n");
  EXPECT_EQ(fleet_.top({})->coverage.machines_drawn, 1);
}

TEST_F(VersionedFacts, MachinesShowsTheNewestAlone) {
  const auto of_profiles = csv(machines({}, **Snapshot::load(fleet_.path()), {}));
  EXPECT_THAT(of_profiles, HasSubstr("6.12.1"));
  EXPECT_THAT(of_profiles, HasSubstr(",0.2.0,"));
  EXPECT_THAT(of_profiles, ::testing::Not(HasSubstr("6.1.0-17")));
}

}  // namespace
}  // namespace plimsoll::query
