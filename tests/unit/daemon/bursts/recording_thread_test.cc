#include "daemon/bursts/recording_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/eventually.h"
#include "tests/unit/daemon/bursts/fake_recorder.h"

namespace plimsoll::bursts {
namespace {

using plimsoll::testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordingThreadTest : public ::testing::Test {
 protected:
  static BurstLimits permitted() {
    return {.is_permitted = true,
            .events = {},
            .max_share = 0.5,
            .max_burst_ns = kNsPerSecond,
            .max_duration_ns = kNsPerHour,
            .max_bytes = 1 << 20,
            .max_overhead = 1,
            .max_memory_bytes = 4 << 20};
  }

  void start(const BurstLimits& limits, const Status& able = {}) {
    thread_ =
        std::make_unique<RecordingThread>(limits, fake_context(machine_, kept_), [able] { return able; });
  }

  // As the agent reports it, whose profile is in `state`.
  wire::AssignmentReport report(const std::string& id, wire::AssignmentState state = wire::DONE) {
    wire::AssignmentReport report;
    report.set_id(id);
    report.set_state(state);
    thread_->complete(report);
    return report;
  }

  FakeMachine machine_;
  KeptRecordings kept_;
  std::unique_ptr<RecordingThread> thread_;
};

TEST_F(RecordingThreadTest, RecordsWhatIsAssignedAndSaysWhatCameOfIt) {
  start(permitted());
  EXPECT_TRUE(thread_->ability().can_record());
  const wire::Assignment assignment = fast_assignment("fleet-1", 60 * kFastPeriodNs);
  thread_->assign({assignment});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").state() == wire::DONE; }));
  const wire::BurstReport bursts = report("fleet-1").bursts();
  EXPECT_GE(bursts.recorded() + bursts.missed(), 1);
  EXPECT_EQ(bursts.recordings(), kept_.all().size());
  EXPECT_EQ(thread_->problem(), "");
  // The same again changes nothing.
  const int opened = machine_.opened;
  thread_->assign({assignment});
  EXPECT_EQ(report("fleet-1").state(), wire::DONE);
  EXPECT_EQ(machine_.opened.load(), opened);
}

TEST_F(RecordingThreadTest, AnAssignmentIsNotDoneWhileItsBurstsAreRecorded) {
  start(permitted());
  thread_->assign({fast_assignment("fleet-1", kNsPerHour)});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").bursts().recorded() > 0; }));
  EXPECT_EQ(report("fleet-1", wire::DONE).state(), wire::RUNNING);
  EXPECT_EQ(report("fleet-1", wire::FAILED).state(), wire::RUNNING);
  EXPECT_EQ(report("fleet-1", wire::WAITING).state(), wire::WAITING);
}

TEST_F(RecordingThreadTest, WhatIsWithdrawnEndsAndIsKept) {
  start(permitted());
  thread_->assign({fast_assignment("fleet-1", kNsPerHour)});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").bursts().recorded() > 0; }));
  thread_->assign({});
  EXPECT_TRUE(eventually([&] { return !kept_.all().empty(); }));
  EXPECT_FALSE(report("fleet-1").has_bursts()) << "it is not asked for";
}

TEST_F(RecordingThreadTest, WhatIsGivenUpEndsAndIsReported) {
  start(permitted());
  thread_->assign({fast_assignment("fleet-1", kNsPerHour)});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").bursts().recorded() > 0; }));
  thread_->give_up("no contact");
  EXPECT_EQ(report("fleet-1", wire::FAILED).state(), wire::FAILED);
  EXPECT_TRUE(eventually([&] { return report("fleet-1").bursts().recordings() == 1; }));
  EXPECT_GE(report("fleet-1").bursts().recorded(), 1);
  EXPECT_EQ(report("fleet-1").bursts().detail(), "ended early: no contact");
}

TEST_F(RecordingThreadTest, StoppingKeepsWhatIsRecorded) {
  start(permitted());
  thread_->assign({fast_assignment("fleet-1", kNsPerHour)});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").bursts().recorded() > 0; }));
  thread_->stop();
  EXPECT_EQ(kept_.all().size(), 1);
}

TEST_F(RecordingThreadTest, AnIdThatComesTwiceIsOneAssignment) {
  start(permitted());
  const wire::Assignment assignment = fast_assignment("fleet-1", 60 * kFastPeriodNs);
  wire::Assignment other = assignment;
  other.mutable_bursts()->set_duration_ns(kNsPerHour);
  thread_->assign({assignment, other});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").state() == wire::DONE; }));
  EXPECT_LE(machine_.opened.load(), 1);
}

TEST_F(RecordingThreadTest, AssignmentsWithoutBurstsAreNotItsOwn) {
  start(permitted());
  wire::Assignment assignment = fast_assignment("fleet-1", kNsPerHour);
  assignment.clear_bursts();
  thread_->assign({assignment});
  EXPECT_FALSE(report("fleet-1").has_bursts());
  EXPECT_EQ(report("fleet-1").state(), wire::DONE);
}

TEST_F(RecordingThreadTest, WhatIsNotPermittedIsRefusedWithTheReason) {
  start({});
  EXPECT_FALSE(thread_->ability().can_record());
  EXPECT_THAT(thread_->ability().why_not(), HasSubstr("bursts.permit"));
  thread_->assign({fast_assignment("fleet-1", kNsPerHour)});
  EXPECT_EQ(report("fleet-1").state(), wire::DONE) << "the profile is had all the same";
  EXPECT_THAT(report("fleet-1").bursts().detail(), HasSubstr("bursts.permit of this daemon is false"));
  EXPECT_EQ(machine_.opened.load(), 0);
}

TEST_F(RecordingThreadTest, AMachineThatCannotRecordSaysWhy) {
  start(permitted(), fail(ErrorCode::kUnsupported, "there is no tracefs"));
  EXPECT_FALSE(thread_->ability().can_record());
  EXPECT_THAT(thread_->ability().why_not(), HasSubstr("no tracefs"));
  thread_->assign({fast_assignment("fleet-1", kNsPerHour)});
  EXPECT_THAT(report("fleet-1").bursts().detail(), HasSubstr("no tracefs"));
}

TEST_F(RecordingThreadTest, SaysWhatIsRecordedLessThanAskedFor) {
  start(permitted());
  wire::Assignment assignment = fast_assignment("fleet-1", 10 * kFastPeriodNs);
  assignment.mutable_bursts()->add_events("page-faults");
  thread_->assign({assignment});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").state() == wire::DONE; }));
  EXPECT_THAT(report("fleet-1").bursts().detail(), HasSubstr("without page-faults"));
}

TEST_F(RecordingThreadTest, AFailureIsReportedAndTheNextAssignmentIsTried) {
  start(permitted());
  kept_.set_full();
  thread_->assign({fast_assignment("fleet-1", 60 * kFastPeriodNs)});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").state() == wire::DONE; }));
  EXPECT_THAT(report("fleet-1").bursts().detail(), HasSubstr("the disk is full"));
  EXPECT_THAT(thread_->problem(), HasSubstr("the disk is full"));
  const int opened = machine_.opened;
  thread_->assign({fast_assignment("fleet-2", kNsPerHour)});
  EXPECT_TRUE(eventually([&] { return machine_.opened > opened; }));
}

TEST_F(RecordingThreadTest, AnAssignmentWhoseTimeIsOverHasNoBursts) {
  start(permitted());
  wire::Assignment assignment = fast_assignment("fleet-1", kNsPerSecond);
  assignment.set_start_ns(wall_now_ns() - kNsPerMinute);
  thread_->assign({assignment});
  ASSERT_TRUE(eventually([&] { return report("fleet-1").state() == wire::DONE; }));
  EXPECT_THAT(report("fleet-1").bursts().detail(), HasSubstr("its time was over"));
  EXPECT_THAT(kept_.all(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::bursts
