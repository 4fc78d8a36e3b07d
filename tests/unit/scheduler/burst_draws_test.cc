#include "scheduler/assignments/burst_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/unit/scheduler/drawer_fixture.h"

namespace plimsoll::scheduler::burst_draws_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kBurstsNs = 5 * kNsPerMinute;

DrawSettings settings_with_bursts() {
  DrawSettings with_bursts = settings();
  with_bursts.collects.mutable_bursts()->set_config_bits(0x7f00);
  with_bursts.collects.mutable_bursts()->set_duration_ns(kBurstsNs);
  return with_bursts;
}

class BurstDrawsTest : public DrawerFixture {
 protected:
  void SetUp() override {
    start(settings_with_bursts(), kStartNs - kNsPerMinute);
    add_machines(kStartNs - 4 * kHeartbeatNs);
    draw(kStartNs - 3 * kHeartbeatNs);
    const auto draws = kept();
    ASSERT_THAT(draws, SizeIs(1));
    draw_ = draws[0].draw.id;
    machine_ = draws[0].machines[0].machine_id;
    start_ns_ = draws[0].machines[0].window_start_ns;
    due_ns_ = draws[0].draw.due_ns;
  }

  std::string detail() {
    const auto found = open_store().machine(draw_, machine_);
    const std::optional<store::DrawnMachine> machine = found ? *found : std::nullopt;
    EXPECT_TRUE(machine);
    return machine ? machine->detail : "no such machine";
  }

  std::string draw_;
  std::string machine_;
  int64_t start_ns_ = 0;
  int64_t due_ns_ = 0;
};

TEST_F(BurstDrawsTest, MachinesAreToldWhichBurstsToRecord) {
  const auto told = drawer_->heard_from(machine_, {}, kStartNs - 1);
  ASSERT_TRUE(told && told->size() == 1);
  EXPECT_EQ(told->front().bursts().config_bits(), 0x7f00);
  EXPECT_EQ(told->front().bursts().duration_ns(), kBurstsNs);
  EXPECT_EQ(told->front().duration_ns(), 10 * kNsPerSecond) << "the profile is as long as ever";
}

TEST_F(BurstDrawsTest, MachinesKeepTheirAssignmentUntilBurstsAreOver) {
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  ASSERT_LT(due_ns_, start_ns_ + kBurstsNs) << "results of the profile are due earlier";
  const auto running = report(draw_, wire::RUNNING);
  EXPECT_THAT(heard_from(machine_, start_ns_ + 1, {running}), ElementsAre(draw_));
  draw(due_ns_);
  EXPECT_GT(drawer_->next_due_ns(), due_ns_) << "the draw's results are not looked at again and again";
  EXPECT_THAT(heard_from(machine_, due_ns_ + 1, {running}), Contains(draw_));
  // A restarted server goes on with it.
  start(settings_with_bursts(), due_ns_ + 2);
  EXPECT_THAT(heard_from(machine_, due_ns_ + 3, {running}), Contains(draw_));
  EXPECT_THAT(heard_from(machine_, due_ns_ + 4, {report(draw_, wire::DONE)}), Not(Contains(draw_)));
}

TEST_F(BurstDrawsTest, AfterTheirDurationNothingIsAsked) {
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  const int64_t until_ns = open_until_ns(kept()[0]);
  EXPECT_GE(until_ns, start_ns_ + kBurstsNs + kNsPerMinute) << "so that the last report comes in time";
  EXPECT_THAT(heard_from(machine_, until_ns, {report(draw_, wire::RUNNING)}), IsEmpty());
}

TEST_F(BurstDrawsTest, StoppingCollectionEndsThem) {
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  const int64_t after_window_ns = start_ns_ + 20 * kNsPerSecond;
  EXPECT_THAT(heard_from(machine_, after_window_ns, {report(draw_, wire::RUNNING)}), ElementsAre(draw_));
  ASSERT_TRUE(breaker_->stop_everything("latency", "alice", after_window_ns));
  EXPECT_THAT(heard_from(machine_, after_window_ns + 1, {report(draw_, wire::RUNNING)}), IsEmpty());
  EXPECT_EQ(detail(), "bursts ended early: collection is stopped");
  EXPECT_THAT(heard_from(machine_, after_window_ns + 2), IsEmpty());
  EXPECT_EQ(detail(), "bursts ended early: collection is stopped") << "the machine has measured";
}

// It may have crashed while it recorded, and would crash again.
TEST_F(BurstDrawsTest, ADaemonThatRestartedIsNotAskedAgain) {
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  EXPECT_THAT(heard_from(machine_, start_ns_ + 1, {report(draw_, wire::RUNNING)}), ElementsAre(draw_));
  ASSERT_TRUE(drawer_->answered(draw_, machine_, 10 * kNsPerSecond, false, start_ns_ + 11 * kNsPerSecond));
  EXPECT_THAT(heard_from(machine_, start_ns_ + 20 * kNsPerSecond), IsEmpty());
  EXPECT_THAT(detail(), HasSubstr("it restarted"));
  EXPECT_EQ(outcomes(kept()[0], due_ns_)[machine_], "answered") << "its profile has come";
}

TEST_F(BurstDrawsTest, WhatCameOfBurstsIsKept) {
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  auto done = report(draw_, wire::DONE, "of applications none");
  done.mutable_bursts()->set_recorded(9);
  done.mutable_bursts()->set_recordings(2);
  done.mutable_bursts()->set_missed(1);
  done.mutable_bursts()->set_lost(40);
  done.mutable_bursts()->set_detail("its budget of bytes is used up");
  EXPECT_THAT(heard_from(machine_, start_ns_ + kBurstsNs + kHeartbeatNs, {done}), IsEmpty());
  EXPECT_EQ(
      detail(),
      "of applications none; bursts: 9 recorded in 2 recordings, 1 missed, 40 events lost: its budget of "
      "bytes is used up");
}

TEST_F(BurstDrawsTest, ADaemonThatDoesNotKnowBurstsDidNotReport) {
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  EXPECT_THAT(heard_from(machine_, start_ns_ + 1, {report(draw_, wire::RUNNING)}), ElementsAre(draw_));
  EXPECT_EQ(detail(), "") << "it may report them yet";
  EXPECT_THAT(heard_from(machine_, start_ns_ + 20 * kNsPerSecond, {report(draw_, wire::DONE)}), IsEmpty());
  EXPECT_EQ(detail(), "bursts: did not report: the daemon does not know how to record any");
}

TEST_F(BurstDrawsTest, ARecordingIsOfADrawThatItsMachineWasToldOf) {
  EXPECT_FALSE(drawer_->check_bursts_of(draw_, machine_)) << "not told yet";
  EXPECT_THAT(heard_from(machine_, kStartNs - 1), ElementsAre(draw_));
  EXPECT_TRUE(drawer_->check_bursts_of(draw_, machine_));
  EXPECT_FALSE(drawer_->check_bursts_of(draw_, "another"));
  EXPECT_EQ(drawer_->check_bursts_of("fleet-0", machine_).error().code, ErrorCode::kInvalid);
}

TEST(BurstDraws, OfADrawWithoutBurstsNothingIsSaid) {
  wire::AssignmentReport report;
  report.set_state(wire::DONE);
  report.set_detail("all is well");
  EXPECT_EQ(detail_of(report, {}), "all is well");
}

}  // namespace
}  // namespace plimsoll::scheduler::burst_draws_test
