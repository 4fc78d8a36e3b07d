#include "scheduler/assignments/draw_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scheduler/drawer_fixture.h"

namespace plimsoll::scheduler {
namespace {

using ::testing::HasSubstr;

TEST(DrawPolicy, RefusesWhatMakesNoSense) {
  const auto field = [](const auto& change) {
    DrawSettings changed = settings();
    change(changed);
    const auto policy = DrawPolicy::make(changed, 1);
    return policy ? std::string() : policy.error().field;
  };
  EXPECT_EQ(field([](auto&) {}), "");
  EXPECT_EQ(field([](auto& s) { s.interval_ns = kNsPerSecond / 2; }), "interval");
  EXPECT_EQ(field([](auto& s) { s.window_ns = 11 * kNsPerMinute; }), "window");
  EXPECT_EQ(field([](auto& s) { s.size.fraction = 0; }), "fraction");
  EXPECT_EQ(field([](auto& s) { s.size.min_per_stratum = 0; }), "min_per_stratum");
  EXPECT_EQ(field([](auto& s) { s.cooldown_ns = -1; }), "cooldown");
  EXPECT_EQ(field([](auto& s) { s.strata = {"weather"}; }), "strata");
  EXPECT_EQ(field([](auto& s) { s.safety.share_of_job = 0; }), "share_of_job");
  EXPECT_EQ(field([](auto& s) { s.safety.share_of_platform = 1.5; }), "share_of_platform");
  EXPECT_EQ(field([](auto& s) { s.safety.share_of_cpu = 0; }), "share_of_cpu");
  // 256 ms in every 32.768 s.
  const auto bursts = [](DrawSettings& s, int64_t duration_ns) -> wire::BurstRequest& {
    s.collects.mutable_bursts()->set_config_bits(0x7f00);
    s.collects.mutable_bursts()->set_duration_ns(duration_ns);
    return *s.collects.mutable_bursts();
  };
  EXPECT_EQ(field([&](auto& s) { bursts(s, 5 * kNsPerMinute); }), "");
  EXPECT_EQ(field([&](auto& s) { bursts(s, 5 * kNsPerMinute).set_config_bits(5); }), "bursts.config");
  EXPECT_EQ(field([&](auto& s) { bursts(s, 11 * kNsPerMinute); }), "bursts.duration") << "over the interval";
  EXPECT_EQ(field([&](auto& s) { bursts(s, 33 * kNsPerSecond); }), "bursts.duration") << "may have no burst";
  EXPECT_EQ(field([&](auto& s) { bursts(s, 34 * kNsPerSecond); }), "");
  EXPECT_EQ(field([&](auto& s) { bursts(s, kNsPerMinute).add_events("weather"); }), "bursts.events");
  EXPECT_EQ(field([&](auto& s) { bursts(s, kNsPerMinute).set_max_overhead(1.5); }),
            "bursts.max_overhead_percent");
}

TEST(DrawPolicy, SaysWhatItIs) {
  DrawSettings wanted = settings();
  wanted.strata = {"platform", "datacenter"};
  wanted.safety.share_of_job = 0.05;
  wanted.size = {.machines = 40, .min_per_stratum = 2, .min_per_job = 3};
  EXPECT_EQ(
      DrawPolicy::make(wanted, 1)->text(),
      "every 10m for 10s: 40 machines, by platform and datacenter, min 2 per stratum, min 3 per job; max at "
      "once 5 % "
      "of a job's instances and 100 % of a platform's machines; max overhead 0.01 % of the fleet's CPU time");
  wanted.strata = {};
  wanted.size = {.fraction = 0.001, .min_per_stratum = 1};
  EXPECT_THAT(DrawPolicy::make(wanted, 1)->text(), HasSubstr("0.1 % of the machines, min 1 per stratum"));
  wanted.collects.mutable_bursts()->set_config_bits(0x7f00);
  wanted.collects.mutable_bursts()->set_duration_ns(5 * kNsPerMinute);
  wanted.collects.mutable_bursts()->add_events("system-calls");
  EXPECT_THAT(DrawPolicy::make(wanted, 1)->text(),
              HasSubstr("CPU time; bursts 7,8 for 5m with system-calls"));
}

}  // namespace
}  // namespace plimsoll::scheduler
