#include "scheduler/harm/overhead_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/time.h"

namespace plimsoll::scheduler {
namespace {

using testing::DoubleNear;
using testing::Optional;

constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kStart = 1'800'000'000 * kSecond;

TEST(OverheadMeter, KnowsWhatDaemonsTakeBetweenTheirReports) {
  OverheadMeter meter;
  EXPECT_EQ(meter.cpus_of_daemon(kStart), std::nullopt);
  meter.heard_from("m1", 100 * kSecond, kStart);
  meter.heard_from("m2", 3 * kSecond, kStart);
  EXPECT_EQ(meter.cpus_of_daemon(kStart), std::nullopt) << "of its start nobody knows how long ago it was";
  meter.heard_from("m1", 101 * kSecond, kStart + 10 * kSecond);
  EXPECT_THAT(meter.cpus_of_daemon(kStart + 10 * kSecond), Optional(DoubleNear(0.1, 1e-12)));
  meter.heard_from("m2", 3 * kSecond, kStart + 30 * kSecond);
  // One second of 10 and 30.
  EXPECT_THAT(meter.cpus_of_daemon(kStart + 30 * kSecond), Optional(DoubleNear(0.025, 1e-12)));
}

TEST(OverheadMeter, ForgetsWhatIsAnHourAgo) {
  OverheadMeter meter;
  meter.heard_from("m1", 0, kStart);
  meter.heard_from("m1", 30 * kSecond, kStart + kMinute);
  EXPECT_THAT(meter.cpus_of_daemon(kStart + 59 * kMinute), Optional(DoubleNear(0.5, 1e-12)));
  EXPECT_EQ(meter.cpus_of_daemon(kStart + 62 * kMinute), std::nullopt);
  meter.heard_from("m1", 40 * kSecond, kStart + 60 * kMinute);
  // What came between two reports counts when the second one comes.
  EXPECT_THAT(meter.cpus_of_daemon(kStart + 62 * kMinute), Optional(DoubleNear(10.0 / (59 * 60), 1e-12)));
  meter.heard_from("m1", 1000 * kSecond, kStart + 300 * kMinute);
  EXPECT_EQ(meter.cpus_of_daemon(kStart + 300 * kMinute), std::nullopt) << "it was away for longer";
}

TEST(OverheadMeter, TakesADaemonThatWasStartedAnewFromItsStart) {
  OverheadMeter meter;
  meter.heard_from("m1", 100 * kSecond, kStart);
  meter.heard_from("m1", 2 * kSecond, kStart + 20 * kSecond);
  EXPECT_THAT(meter.cpus_of_daemon(kStart + kMinute), Optional(DoubleNear(0.1, 1e-12)));
}

TEST(OverheadMeter, IsNotLedAstrayByLies) {
  OverheadMeter meter;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [cpu_time_ns, at_ns] : {std::pair{int64_t{0}, kStart},
                                           {kMost, kStart + 10 * kSecond},
                                           {-kMost, kStart + 20 * kSecond},
                                           {kMost, kStart + 30 * kSecond},
                                           {int64_t{0}, kStart + 5 * kSecond}}) {
    meter.heard_from("liar", cpu_time_ns, at_ns);
  }
  meter.heard_from("m1", 0, kStart);
  meter.heard_from("m1", 0, kStart + 80 * kSecond);
  // Ten seconds, none and ten, of 30 and 80.
  EXPECT_THAT(meter.cpus_of_daemon(kStart + 90 * kSecond), Optional(DoubleNear(20.0 / 110, 1e-12)));
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
