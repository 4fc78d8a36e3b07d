#include "scheduler/safety/overhead_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/time.h"
#include "tests/start.h"

namespace plimsoll::scheduler {
namespace {

using plimsoll::testing::kStartNs;

using ::testing::DoubleNear;
using ::testing::Optional;

TEST(OverheadMeter, KnowsWhatDaemonsTakeBetweenTheirReports) {
  OverheadMeter meter;
  EXPECT_EQ(meter.cpus_of_daemon(kStartNs), std::nullopt);
  meter.heard_from("m1", 100 * kNsPerSecond, kStartNs);
  meter.heard_from("m2", 3 * kNsPerSecond, kStartNs);
  EXPECT_EQ(meter.cpus_of_daemon(kStartNs), std::nullopt) << "of its start nobody knows how long ago it was";
  meter.heard_from("m1", 101 * kNsPerSecond, kStartNs + 10 * kNsPerSecond);
  EXPECT_THAT(meter.cpus_of_daemon(kStartNs + 10 * kNsPerSecond), Optional(DoubleNear(0.1, 1e-12)));
  meter.heard_from("m2", 3 * kNsPerSecond, kStartNs + 30 * kNsPerSecond);
  // One second of 10 and 30.
  EXPECT_THAT(meter.cpus_of_daemon(kStartNs + 30 * kNsPerSecond), Optional(DoubleNear(0.025, 1e-12)));
}

TEST(OverheadMeter, ForgetsWhatIsAnHourAgo) {
  OverheadMeter meter;
  meter.heard_from("m1", 0, kStartNs);
  meter.heard_from("m1", 30 * kNsPerSecond, kStartNs + kNsPerMinute);
  EXPECT_THAT(meter.cpus_of_daemon(kStartNs + 59 * kNsPerMinute), Optional(DoubleNear(0.5, 1e-12)));
  EXPECT_EQ(meter.cpus_of_daemon(kStartNs + 62 * kNsPerMinute), std::nullopt);
  meter.heard_from("m1", 40 * kNsPerSecond, kStartNs + 60 * kNsPerMinute);
  // What came between two reports counts when the second one comes.
  EXPECT_THAT(meter.cpus_of_daemon(kStartNs + 62 * kNsPerMinute),
              Optional(DoubleNear(10.0 / (59 * 60), 1e-12)));
  meter.heard_from("m1", 1000 * kNsPerSecond, kStartNs + 300 * kNsPerMinute);
  EXPECT_EQ(meter.cpus_of_daemon(kStartNs + 300 * kNsPerMinute), std::nullopt) << "it was away for longer";
}

TEST(OverheadMeter, TakesADaemonThatWasStartedAnewFromItsStart) {
  OverheadMeter meter;
  meter.heard_from("m1", 100 * kNsPerSecond, kStartNs);
  meter.heard_from("m1", 2 * kNsPerSecond, kStartNs + 20 * kNsPerSecond);
  EXPECT_THAT(meter.cpus_of_daemon(kStartNs + kNsPerMinute), Optional(DoubleNear(0.1, 1e-12)));
}

TEST(OverheadMeter, IsNotLedAstrayByLies) {
  OverheadMeter meter;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const auto& [cpu_time_ns, at_ns] : {std::pair{int64_t{0}, kStartNs},
                                           {kMax, kStartNs + 10 * kNsPerSecond},
                                           {-kMax, kStartNs + 20 * kNsPerSecond},
                                           {kMax, kStartNs + 30 * kNsPerSecond},
                                           {int64_t{0}, kStartNs + 5 * kNsPerSecond}}) {
    meter.heard_from("liar", cpu_time_ns, at_ns);
  }
  meter.heard_from("m1", 0, kStartNs);
  meter.heard_from("m1", 0, kStartNs + 80 * kNsPerSecond);
  // Ten seconds, none and ten, of 30 and 80.
  EXPECT_THAT(meter.cpus_of_daemon(kStartNs + 90 * kNsPerSecond), Optional(DoubleNear(20.0 / 110, 1e-12)));
}

TEST(Affordable, AreMoreOrFewerByWhatTheyCost) {
  EXPECT_EQ(affordable(100, 0, 0.5, 0.001), 100) << "none has measured yet";
  EXPECT_EQ(affordable(100, 100, 0, 0.001), 100);
  EXPECT_EQ(affordable(100, 100, 0.001, 0.001), 100);
  EXPECT_EQ(affordable(100, 100, 0.002, 0.001), 50);
  EXPECT_EQ(affordable(100, 50, 0.001, 0.001), 50);
  EXPECT_EQ(affordable(100, 50, 0.0005, 0.001), 100);
  EXPECT_EQ(affordable(100, 25, 0.002, 0.001), 12.5);
  EXPECT_EQ(affordable(100, 1, 0.9, 0.001), 1);
  EXPECT_EQ(affordable(0, 1, 0.9, 0.001), 0);
}

}  // namespace
}  // namespace plimsoll::scheduler
