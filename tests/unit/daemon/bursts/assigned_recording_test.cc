#include "daemon/bursts/assigned_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <memory>

#include "base/unique_fd.h"
#include "tests/unit/daemon/bursts/fake_recorder.h"

namespace plimsoll::bursts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class AssignedRecordingTest : public ::testing::Test {
 protected:
  Status run(const wire::Assignment& assignment) {
    const auto config = traces::BurstConfig::of_bits(assignment.bursts().config_bits());
    EXPECT_TRUE(config);
    AssignedRecording recording(
        assignment, *config, context_, stop_.get(), [this] { return is_wanted_ && ++asked_ <= max_asked_; },
        [this](const wire::BurstReport& report) {
          report_ = report;
          is_wanted_ = report.recorded() < stop_after_;
        });
    return recording.run();
  }

  size_t bursts_kept() const {
    size_t count = 0;
    for (const traces::BurstRecording& recording : kept_.all()) {
      count += recording.bursts.size();
    }
    return count;
  }

  const UniqueFd stop_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  FakeMachine machine_;
  KeptRecordings kept_;
  RecordingContext context_ = fake_context(machine_, kept_);
  bool is_wanted_ = true;
  int asked_ = 0;  // whether it is wanted
  int max_asked_ = INT32_MAX;
  uint64_t stop_after_ = UINT64_MAX;  // bursts
  wire::BurstReport report_;
};

TEST_F(AssignedRecordingTest, RecordsBurstsUntilItsTimeIsOver) {
  machine_.lost_per_burst = 3;
  const wire::Assignment assignment = fast_assignment("fleet-1", 60 * kFastPeriodNs);
  const Status done = run(assignment);
  ASSERT_TRUE(done) << done.error().text();
  // On a machine that is busy some go by.
  EXPECT_GE(report_.recorded(), 1);
  EXPECT_LE(report_.recorded() + report_.missed(), 60);
  EXPECT_EQ(report_.events(), 10 * report_.recorded());
  EXPECT_EQ(report_.lost(), 3 * report_.recorded());
  EXPECT_EQ(report_.detail(), "");
  const auto recordings = kept_.all();
  ASSERT_THAT(recordings, SizeIs(1));
  EXPECT_EQ(report_.recordings(), 1);
  EXPECT_EQ(recordings[0].machine, "m1");
  EXPECT_EQ(recordings[0].draw, "fleet-1");
  EXPECT_EQ(recordings[0].config_bits, kFastConfig);
  EXPECT_EQ(recordings[0].cpus, 2);
  EXPECT_TRUE(recordings[0].clock.is_synchronized);
  EXPECT_THAT(recordings[0].notes, SizeIs(1));
  EXPECT_THAT(recordings[0].threads, SizeIs(2));
  EXPECT_EQ(recordings[0].bursts.size(), report_.recorded());
  const auto config = *traces::BurstConfig::of_bits(kFastConfig);
  for (const traces::Burst& burst : recordings[0].bursts) {
    EXPECT_EQ(burst.planned, config.burst_at_or_after(burst.planned.begin_ms));
    EXPECT_GE(burst.planned.begin_ms * kNsPerMs, assignment.start_ns());
    EXPECT_LE(burst.planned.end_ms * kNsPerMs, assignment.start_ns() + assignment.duration_ns());
    EXPECT_EQ(burst.lost[0], 3);
  }
  EXPECT_EQ(kept_.ids()[0].size(), 16);
  EXPECT_EQ(machine_.enabled.load(), machine_.disabled.load());
}

TEST_F(AssignedRecordingTest, WhatIsNotWantedAnyMoreEndsAndIsKept) {
  stop_after_ = 3;
  ASSERT_TRUE(run(fast_assignment("fleet-1", kNsPerHour)));
  EXPECT_EQ(report_.recorded(), 3);
  EXPECT_EQ(bursts_kept(), 3);
}

TEST_F(AssignedRecordingTest, ARequestToStopEndsWaitingAtOnce) {
  wire::Assignment assignment = fast_assignment("fleet-1", kNsPerHour);
  // The next burst is minutes ahead.
  assignment.mutable_bursts()->set_config_bits(traces::BurstConfig::of(1, 20)->bits());
  ASSERT_EQ(::eventfd_write(stop_.get(), 1), 0);
  max_asked_ = 3;
  EXPECT_TRUE(run(assignment));
  EXPECT_EQ(machine_.opened.load(), 1);
  EXPECT_EQ(machine_.enabled.load(), 0);
}

TEST_F(AssignedRecordingTest, ALimitOfBytesEndsItAndSaysSo) {
  machine_.events_per_burst = 10'000;
  wire::Assignment assignment = fast_assignment("fleet-1", kNsPerHour);
  assignment.mutable_bursts()->set_max_bytes(400'000);
  ASSERT_TRUE(run(assignment));
  EXPECT_THAT(report_.detail(), HasSubstr("ended early: recordings take"));
  EXPECT_LE(report_.bytes(), 400'000);
  EXPECT_GE(report_.recorded(), 1);
  EXPECT_EQ(report_.recorded(), bursts_kept());
}

TEST_F(AssignedRecordingTest, WhatDoesNotFitIsCountedAsMissed) {
  wire::Assignment assignment = fast_assignment("fleet-1", 60 * kFastPeriodNs);
  assignment.mutable_bursts()->set_max_bytes(100);
  ASSERT_TRUE(run(assignment));
  EXPECT_THAT(kept_.all(), IsEmpty());
  EXPECT_EQ(report_.recorded(), 0);
  EXPECT_GE(report_.missed(), 1);
  EXPECT_THAT(report_.detail(), HasSubstr("max_bytes"));
}

TEST_F(AssignedRecordingTest, ALimitOfCpuTimeEndsItAndSaysSo) {
  machine_.events_per_burst = 10'000;  // 4 ms of the kernel's time, as they are reckoned
  wire::Assignment assignment = fast_assignment("fleet-1", 1000 * kFastPeriodNs);
  assignment.mutable_bursts()->set_max_overhead(0.0005);  // of two CPUs for 16 s: 16 ms
  ASSERT_TRUE(run(assignment));
  EXPECT_THAT(report_.detail(), HasSubstr("ended early: recording has taken"));
  EXPECT_GE(report_.recorded(), 1);
  EXPECT_LE(report_.recorded(), 4);
  EXPECT_EQ(report_.recorded(), bursts_kept());
}

TEST_F(AssignedRecordingTest, MissesBurstsWhileTheGovernorPauses) {
  context_.reason_to_pause = [] { return std::string("over the minute's budget"); };
  ASSERT_TRUE(run(fast_assignment("fleet-1", 60 * kFastPeriodNs)));
  EXPECT_EQ(report_.recorded(), 0);
  EXPECT_GE(report_.missed(), 1);
  EXPECT_EQ(machine_.enabled.load(), 0);
  EXPECT_THAT(report_.detail(), HasSubstr("recording pauses: over the minute's budget"));
  EXPECT_THAT(kept_.all(), IsEmpty());
}

TEST_F(AssignedRecordingTest, OtherCpusTakeAnotherRecorderAndAnotherRecording) {
  context_.reason_to_pause = [this] {
    machine_.is_outdated = machine_.enabled == 2 && machine_.opened == 1;
    return std::string();
  };
  stop_after_ = 5;
  ASSERT_TRUE(run(fast_assignment("fleet-1", kNsPerHour)));
  EXPECT_EQ(machine_.opened.load(), 2);
  EXPECT_THAT(kept_.all(), SizeIs(2));
  EXPECT_EQ(bursts_kept(), 5);
}

TEST_F(AssignedRecordingTest, AFullDiskEndsItAndWhatWasRecordedIsMissed) {
  kept_.set_full();
  stop_after_ = 2;
  const Status done = run(fast_assignment("fleet-1", kNsPerHour));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("the disk is full"));
  EXPECT_EQ(report_.recorded(), 0);
  EXPECT_GE(report_.missed(), 2);
  EXPECT_EQ(report_.recordings(), 0);
}

TEST_F(AssignedRecordingTest, WhatWasRecordedBeforeAnErrorIsKept) {
  context_.reason_to_pause = [this] {
    machine_.fails = machine_.enabled == 2;
    return std::string();
  };
  const Status done = run(fast_assignment("fleet-1", kNsPerHour));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("the event is gone"));
  EXPECT_EQ(bursts_kept(), 2);
}

TEST_F(AssignedRecordingTest, EventsAreAsAskedForAndMemoryIsDivided) {
  wire::Assignment assignment = fast_assignment("fleet-1", 2 * kFastPeriodNs);
  assignment.mutable_bursts()->add_events("system-calls");
  ASSERT_TRUE(run(assignment));
  EXPECT_TRUE(machine_.options.with_system_calls);
  EXPECT_FALSE(machine_.options.with_page_faults);
  EXPECT_EQ(machine_.options.max_ring_bytes, uint64_t{1} << 20);
  EXPECT_EQ(machine_.options.max_burst_bytes, uint64_t{1} << 20);
}

// Tells of one event in each burst, of the thread that the fake recorder has.
class FakeApplications : public Applications {
 public:
  explicit FakeApplications(int& calls) : calls_(calls) {}
  void prepare(const traces::BurstConfig& config, int64_t duration_ns, int64_t) override {
    EXPECT_EQ(config.bits(), kFastConfig);
    EXPECT_GT(duration_ns, 0);
    ++calls_;
  }
  ApplicationEvents collect(uint64_t max_events, int64_t) override {
    EXPECT_EQ(max_events, (uint64_t{1} << 20) / kBytesPerApplicationEvent);
    ApplicationEvents events;
    // Whichever bursts were recorded, one of so many is in one of them.
    for (int64_t ago_ms = 0; ago_ms < 1000; ++ago_ms) {
      events.events.push_back({.time_ns = monotonic_now_ns() - ago_ms * kNsPerMs,
                               .tid = 71,
                               .pid = 70,
                               .kind = traces::BurstEventKind::kAnnotation,
                               .text = "row"});
    }
    return events;
  }
  void release(int64_t) override { calls_ += 1'000'000; }

 private:
  int& calls_;
};

TEST_F(AssignedRecordingTest, AsksApplicationsWhereThatIsAskedFor) {
  int calls = 0;
  context_.open_applications = [&calls](int) { return std::make_unique<FakeApplications>(calls); };
  stop_after_ = 3;
  wire::Assignment assignment = fast_assignment("fleet-1", kNsPerHour);
  ASSERT_TRUE(run(assignment));
  EXPECT_EQ(calls, 0);
  assignment.mutable_bursts()->add_events("applications");
  is_wanted_ = true;
  ASSERT_TRUE(run(assignment));
  EXPECT_GE(calls, 1'000'003);
  const auto recordings = kept_.all();
  ASSERT_THAT(recordings, SizeIs(2));
  EXPECT_THAT(recordings[0].details, IsEmpty());
  EXPECT_THAT(recordings[1].texts, ElementsAre("", "row"));
  EXPECT_THAT(recordings[1].details, Not(IsEmpty()));
  EXPECT_THAT(recordings[1].threads, SizeIs(2));
}

}  // namespace
}  // namespace plimsoll::bursts
