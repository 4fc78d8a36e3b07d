#include "daemon/assignments/assignment_queue.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kAheadNs = 10;

WantedAssignment timed(const std::string& id, int64_t start_ns, int64_t duration_ns = 100) {
  WantedAssignment wanted;
  wanted.assignment.set_id(id);
  wanted.assignment.set_start_ns(start_ns);
  wanted.assignment.set_duration_ns(duration_ns);
  return wanted;
}

WantedAssignment continuous(const std::string& id) {
  WantedAssignment wanted;
  wanted.assignment.set_id(id);
  wanted.assignment.set_continuous(true);
  wanted.assignment.set_duration_ns(100);
  return wanted;
}

// "a", "wait until 90", or "nothing".
std::string next(AssignmentQueue& queue, int64_t now_ns) {
  const AssignmentQueue::Next next = queue.next(now_ns, kAheadNs);
  if (next.assignment) {
    return next.assignment->id();
  }
  return next.due_ns == INT64_MAX ? "nothing" : fmt::format("wait until {}", next.due_ns);
}

// "a WAITING, b FAILED: why"
std::string reports(const AssignmentQueue& queue) {
  std::string text;
  for (const wire::AssignmentReport& report : queue.reports()) {
    text += fmt::format("{}{} {}{}{}", text.empty() ? "" : ", ", report.id(),
                        wire::AssignmentState_Name(report.state()), report.detail().empty() ? "" : ": ",
                        report.detail());
  }
  return text;
}

TEST(AssignmentQueue, WaitsForTheTimeOfAnAssignmentAndALittleLess) {
  AssignmentQueue queue;
  EXPECT_EQ(next(queue, 0), "nothing");
  queue.replace({timed("a", 100)});
  EXPECT_EQ(next(queue, 0), "wait until 90");
  EXPECT_EQ(next(queue, 89), "wait until 90");
  EXPECT_EQ(next(queue, 90), "a");
  EXPECT_EQ(next(queue, 199), "a") << "late is better than never";
  EXPECT_EQ(reports(queue), "a WAITING");
}

TEST(AssignmentQueue, KnowsWhatIsStillToBeRun) {
  AssignmentQueue queue;
  queue.replace({timed("a", 100), timed("b", 300)});
  EXPECT_TRUE(queue.is_open("a"));
  EXPECT_FALSE(queue.is_open("c"));
  queue.set_state("a", wire::RUNNING);
  EXPECT_TRUE(queue.is_open("a"));
  queue.set_state("a", wire::DONE);
  EXPECT_FALSE(queue.is_open("a"));
  EXPECT_EQ(next(queue, 400), "nothing");
  EXPECT_FALSE(queue.is_open("b")) << "its time is over";
}

TEST(AssignmentQueue, WhatWasMissedHasFailed) {
  AssignmentQueue queue;
  queue.replace({timed("a", 100)});
  EXPECT_EQ(next(queue, 200), "nothing");
  EXPECT_THAT(reports(queue), HasSubstr("a FAILED: its window ended at 1970-"));
}

TEST(AssignmentQueue, GoesByTheirStartsAndNotByTheirOrder) {
  AssignmentQueue queue;
  queue.replace({timed("second", 300), timed("first", 100), timed("beside", 150)});
  EXPECT_EQ(next(queue, 0), "wait until 90");
  EXPECT_EQ(next(queue, 160), "first");
  queue.set_state("first", wire::DONE);
  EXPECT_EQ(next(queue, 210), "beside");
  queue.set_state("beside", wire::DONE);
  EXPECT_EQ(next(queue, 210), "wait until 290");
}

TEST(AssignmentQueue, ContinuousOnesMakeRoomForThoseWithAStart) {
  AssignmentQueue queue;
  queue.replace({continuous("always"), timed("a", 100)});
  EXPECT_EQ(next(queue, 0), "always");
  EXPECT_EQ(next(queue, 90), "a");
  EXPECT_EQ(next(queue, 1'000'000), "always");
}

TEST(AssignmentQueue, WhatIsDoneIsNotRunAgainWhileItIsNamed) {
  AssignmentQueue queue;
  queue.replace({timed("a", 100)});
  queue.set_state("a", wire::DONE);
  queue.replace({timed("a", 100), timed("b", 300)});
  EXPECT_EQ(next(queue, 110), "wait until 290");
  EXPECT_EQ(reports(queue), "a DONE, b WAITING");
  queue.replace({timed("b", 300)});
  EXPECT_EQ(reports(queue), "b WAITING");
}

TEST(AssignmentQueue, WhatHasChangedBeginsAnew) {
  AssignmentQueue queue;
  queue.replace({timed("a", 100)});
  queue.set_state("a", wire::DONE);
  const wire::Assignment old = timed("a", 100).assignment;
  EXPECT_FALSE(queue.is_wanted(old));
  queue.replace({timed("a", 500)});
  EXPECT_FALSE(queue.is_wanted(old));
  EXPECT_TRUE(queue.is_wanted(timed("a", 500).assignment));
  EXPECT_EQ(next(queue, 495), "a");
}

TEST(AssignmentQueue, WhatIsRefusedIsReportedAndNotRun) {
  AssignmentQueue queue;
  WantedAssignment refused = timed("a", 100);
  refused.refusal = "limits.max_window";
  queue.replace({refused});
  EXPECT_EQ(next(queue, 100), "nothing");
  EXPECT_EQ(reports(queue), "a REFUSED: limits.max_window");
}

// The server refuses a heartbeat that it cannot read.
TEST(AssignmentQueue, ReportsAreTextWhateverWentWrong) {
  AssignmentQueue queue;
  queue.replace({timed("a", 100)});
  queue.set_state("a", wire::FAILED, "opening /tmp/\xFF\n" + std::string(5000, 'x'));
  const std::string detail = queue.reports()[0].detail();
  EXPECT_EQ(detail.substr(0, 16), "opening /tmp/??x");
  EXPECT_EQ(detail.size(), 1000);
}

TEST(AssignmentQueue, NothingThatIsOpenOutlivesItsLease) {
  AssignmentQueue queue;
  queue.replace({timed("a", 100), timed("b", 300), timed("c", 500)});
  queue.set_state("a", wire::DONE);
  queue.set_state("b", wire::RUNNING);
  queue.fail_open("no server");
  EXPECT_EQ(reports(queue), "a DONE, b FAILED: no server, c FAILED: no server");
  EXPECT_EQ(next(queue, 500), "nothing");
  EXPECT_FALSE(queue.is_wanted(timed("b", 300).assignment));
  // The server, back again, names them still: what was given up stays so, what is new is run.
  queue.replace({timed("b", 300), timed("d", 500)});
  EXPECT_EQ(next(queue, 500), "d");
}

}  // namespace
}  // namespace plimsoll
