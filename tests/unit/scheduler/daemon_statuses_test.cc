#include "scheduler/daemon_statuses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/time.h"
#include "tests/start.h"

namespace plimsoll::scheduler::daemon_statuses_test {
namespace {

using plimsoll::testing::kStartNs;

constexpr int64_t kHeartbeatNs = 10 * kNsPerSecond;

wire::DaemonStatus dropped(uint64_t too_old, int64_t since_ns = 1) {
  wire::DaemonStatus status;
  status.mutable_profile_counts()->set_since_ns(since_ns);
  status.mutable_profile_counts()->set_dropped_too_old(too_old);
  return status;
}

class DaemonStatusesTest : public ::testing::Test {
 protected:
  void note(const std::string& machine, const wire::DaemonStatus& status) {
    statuses_.note(machine, status, now_ns_, kHeartbeatNs);
  }
  DaemonTotals totals() { return statuses_.totals(now_ns_); }

  int64_t now_ns_ = kStartNs;
  DaemonStatuses statuses_{kNsPerHour};
};

TEST_F(DaemonStatusesTest, TellsDaemonsThatCannotRecordBurstsFromThoseThatDoNotSay) {
  note("old", {});
  wire::DaemonStatus status;
  status.mutable_bursts()->set_can_record(true);
  note("m1", status);
  note("m2", status);
  status.mutable_bursts()->set_can_record(false);
  status.mutable_bursts()->set_why_not("no tracefs\x1b");
  status.mutable_recording_counts()->set_spooled(9);
  status.mutable_recording_counts()->set_delivered(3);
  status.mutable_recording_counts()->set_dropped_no_room(1);
  note("m3", status);
  status.mutable_recording_counts()->set_delivered(UINT64_MAX);
  note("m4", status);
  EXPECT_EQ(totals().can_record_bursts, 2);
  EXPECT_EQ(totals().cannot_record_bursts, 2);
  EXPECT_EQ(totals().bursts_not_reported, 1);
  EXPECT_EQ(totals().recordings_queued, 5);
  EXPECT_TRUE(totals().why_no_bursts.starts_with("m3: no tracefs")) << totals().why_no_bursts;
  EXPECT_EQ(totals().why_no_bursts.find('\x1b'), std::string::npos);
}

TEST_F(DaemonStatusesTest, SumsUpTheNewestOfEachLiveDaemon) {
  wire::DaemonStatus status;
  status.set_problem("no perf events: denied");
  status.set_slowdown(4);
  status.set_profiles_queued(3);
  status.set_spooled_bytes(1000);
  status.set_cpu_share(0.009);
  status.set_cpu_share_limit(0.01);
  note("m1", status);
  note("m1", status);
  status.clear_problem();
  status.set_slowdown(1);
  status.set_cpu_share(0.001);
  note("m2", status);
  EXPECT_EQ(totals().reporting, 2);
  EXPECT_EQ(totals().with_problem, 1);
  EXPECT_EQ(totals().problem, "m1: no perf events: denied");
  EXPECT_EQ(totals().slowed_down, 1);
  EXPECT_EQ(totals().profiles_queued, 6);
  EXPECT_EQ(totals().spooled_bytes, 2000);
  EXPECT_DOUBLE_EQ(totals().max_cpu_of_limit, 0.9);
  EXPECT_DOUBLE_EQ(totals().cpus, 0.01);
  EXPECT_DOUBLE_EQ(totals().cpus_limit, 0.02);
}

TEST_F(DaemonStatusesTest, ForgetsWhoIsOffline) {
  wire::DaemonStatus status;
  status.set_problem("disk full");
  note("m1", status);
  now_ns_ += 2 * kHeartbeatNs;
  note("m2", wire::DaemonStatus());
  EXPECT_EQ(totals().reporting, 2);
  now_ns_ += kHeartbeatNs;
  EXPECT_EQ(totals().reporting, 1);
  EXPECT_EQ(totals().with_problem, 0);
}

TEST_F(DaemonStatusesTest, CountsWhatWasDroppedSinceTheFirstHeartbeat) {
  note("m1", dropped(100));
  EXPECT_EQ(totals().profiles_dropped.too_old, 0) << "before this server";
  note("m1", dropped(103));
  note("m1", dropped(102));  // came late
  note("m1", dropped(103));
  EXPECT_EQ(totals().profiles_dropped.too_old, 3);
  note("m2", dropped(7));
  note("m2", dropped(9, /*since_ns=*/2));  // another spool, which counts from 0
  EXPECT_EQ(totals().profiles_dropped.too_old, 3 + 9);
}

TEST_F(DaemonStatusesTest, CountsWhatWasDroppedWhileAMachineWasOffline) {
  note("m1", dropped(100));
  now_ns_ += kNsPerHour / 2;
  EXPECT_EQ(totals().reporting, 0);
  note("m1", dropped(150));
  EXPECT_EQ(totals().profiles_dropped.too_old, 50);
  now_ns_ += 2 * kNsPerHour;  // longer than anything is kept of it
  note("m1", dropped(170));
  EXPECT_EQ(totals().profiles_dropped.too_old, 50);
}

TEST_F(DaemonStatusesTest, BoundsWhatADaemonSays) {
  wire::DaemonStatus status;
  status.set_problem("\x1b[2J" + std::string(100'000, 'x'));
  status.set_cpu_share(std::numeric_limits<double>::quiet_NaN());
  status.set_cpu_share_limit(0);
  status.set_spooled_bytes(UINT64_MAX);
  status.set_profiles_queued(UINT64_MAX);
  for (int i = 0; i < 100; ++i) {
    note("m" + std::to_string(i), status);
  }
  EXPECT_LE(totals().problem.size(), 600);
  EXPECT_EQ(totals().problem.find('\x1b'), std::string::npos);
  EXPECT_EQ(totals().max_cpu_of_limit, 0);
  EXPECT_GT(totals().spooled_bytes, 0);
  EXPECT_GT(totals().profiles_queued, 0);
}

}  // namespace
}  // namespace plimsoll::scheduler::daemon_statuses_test
