#include "scheduler/plausibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/time.h"
#include "tests/profile_fixture.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNowNs = 1'700'000'100 * kNsPerSecond;

// Ten seconds on four CPUs.
wire::RawProfile claim(const std::string& event, wire::Unit unit, double counted) {
  wire::RawProfile profile = testing::make_profile({.from_ns = 1'700'000'000 * kNsPerSecond,
                                                    .length_ns = 10 * kNsPerSecond,
                                                    .events = {{.name = event, .unit = unit}}});
  profile.mutable_machine()->set_cores(4);
  profile.mutable_events(0)->set_counter_total(counted);
  return profile;
}

bool is_plausible(const std::string& event, wire::Unit unit, double counted) {
  return check_plausible(claim(event, unit, counted), kNowNs).has_value();
}

TEST(Plausibility, CpuTimeIsWhatTheCpusHave) {
  EXPECT_TRUE(is_plausible("cpu-clock", wire::NANOSECONDS, 40e9));
  EXPECT_FALSE(is_plausible("cpu-clock", wire::NANOSECONDS, 60e9));
  EXPECT_FALSE(is_plausible("cpu-clock", wire::NANOSECONDS, 1e31));
  EXPECT_FALSE(is_plausible("cpu-clock", wire::NANOSECONDS, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(is_plausible("lock-wait-ns", wire::NANOSECONDS, 4000e9))
      << "a hundred threads may wait at once";
}

TEST(Plausibility, NothingCountsFasterThanAProcessor) {
  EXPECT_TRUE(is_plausible("instructions", wire::COUNT, 4 * 10 * 3e10));
  EXPECT_FALSE(is_plausible("instructions", wire::COUNT, 1e18));
  EXPECT_FALSE(is_plausible("energy-pkg", wire::MICROJOULES, 1e15));
}

TEST(Plausibility, WhatMultiplexingScalesToCounts) {
  wire::RawProfile profile = claim("cpu-clock", wire::NANOSECONDS, 1e9);
  profile.mutable_events(0)->set_time_enabled_ns(10'000'000'000);
  profile.mutable_events(0)->set_time_running_ns(2'000'000'000);
  EXPECT_TRUE(check_plausible(profile, kNowNs)) << "5 s of 40";
  profile.mutable_events(0)->set_time_running_ns(1);
  EXPECT_FALSE(check_plausible(profile, kNowNs)) << "1e19 ns";
}

TEST(Plausibility, NothingHoldsManyTimesItsMemory) {
  wire::RawProfile profile = claim("heap-inuse-space", wire::BYTES, 1e10);
  profile.mutable_events(0)->set_kind(wire::SNAPSHOT);
  profile.mutable_machine()->set_memory_bytes(1UL << 30);
  EXPECT_TRUE(check_plausible(profile, kNowNs)) << "9 of what it has: allocated, and not all touched";
  profile.mutable_events(0)->set_counter_total(1e12);
  EXPECT_FALSE(check_plausible(profile, kNowNs));
  profile.mutable_machine()->clear_memory_bytes();
  EXPECT_TRUE(check_plausible(profile, kNowNs)) << "it does not tell";
  profile.mutable_events(0)->set_counter_total(1e31);
  EXPECT_FALSE(check_plausible(profile, kNowNs));
}

TEST(Plausibility, CoresAreNotBelievedBeyondWhatThereIs) {
  wire::RawProfile profile = claim("cpu-clock", wire::NANOSECONDS, 1e18);
  profile.mutable_machine()->set_cores(UINT32_MAX);
  const auto checked = check_plausible(profile, kNowNs);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().field, "events[0].counter_total");
  EXPECT_THAT(checked.error().message, HasSubstr("over the possible maximum"));
}

TEST(Plausibility, TimesAreNearTheServers) {
  const auto at = [](int64_t start_s) {
    wire::RawProfile profile = claim("cycles", wire::COUNT, 1);
    profile.mutable_window()->mutable_start()->set_wall_ns(start_s * kNsPerSecond);
    profile.mutable_window()->mutable_end()->set_wall_ns((start_s + 10) * kNsPerSecond);
    return check_plausible(profile, kNowNs).has_value();
  };
  EXPECT_TRUE(at(1'700'000'000));
  EXPECT_TRUE(at(1'600'000'000)) << "from a spool, or imported";
  EXPECT_FALSE(at(40'000'000)) << "1971";
  EXPECT_FALSE(at(3'900'000'000)) << "2093";
}

}  // namespace
}  // namespace plimsoll::scheduler
