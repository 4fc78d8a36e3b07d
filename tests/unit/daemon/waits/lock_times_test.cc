#include "daemon/waits/lock_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/daemon/waits/scripted.h"

namespace plimsoll::waits {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LockTimesTest : public ::testing::Test {
 protected:
  void begin(int64_t time_ns, uint32_t tid) {
    times_.apply({.time_ns = time_ns, .event = ThreadEvent::kLockBegin, .thread = {tid, tid}});
  }
  void end(int64_t time_ns, uint32_t tid) {
    times_.apply({.time_ns = time_ns, .event = ThreadEvent::kLockEnd, .thread = {tid, tid}});
  }

  std::vector<std::string> waits_;
  LockTimes times_{[this](const WaitPart& part) { waits_.push_back(testing::text_of(part)); }};
};

TEST_F(LockTimesTest, LastFromBeginToEnd) {
  times_.begin_slot(0, 3);
  times_.sampled(7, 10, {.thread = 7, .stack = 2});
  begin(10, 7);
  begin(12, 8);
  end(15, 8);
  end(30, 7);
  EXPECT_THAT(waits_, ElementsAre("8 9 of 3", "7 60 of 20 stack 2"));
}

// A mutex that is first spun for and then slept for begins twice, and ends once.
TEST_F(LockTimesTest, OfOneLockThatBeginTwiceAreOne) {
  times_.begin_slot(0, 1);
  begin(10, 7);
  begin(15, 7);
  end(30, 7);
  EXPECT_THAT(waits_, ElementsAre("7 20 of 20"));
}

// The kernel tells the begin of a wait by two events, in the order of its list.
TEST_F(LockTimesTest, TakeAStackThatComesAfterTheirRecord) {
  times_.begin_slot(0, 1);
  begin(10, 7);
  times_.sampled(7, 11, {.thread = 7, .stack = 2});
  end(30, 7);
  begin(40, 7);
  times_.sampled(7, 40, {.thread = 7, .stack = 3});
  end(50, 7);
  // Its own is lost: no other one's stands in.
  begin(60, 7);
  end(70, 7);
  EXPECT_THAT(waits_, ElementsAre("7 20 of 20 stack 2", "7 10 of 10 stack 3", "7 10 of 10"));
}

// After a millisecond it is of something else.
TEST_F(LockTimesTest, TakeAStackOfTheirFirstMillisecondAlone) {
  times_.begin_slot(0, 1);
  begin(10, 7);
  begin(10, 8);
  times_.sampled(7, 1'000'010, {.thread = 7, .stack = 2});
  times_.sampled(8, 1'000'011, {.thread = 8, .stack = 3});
  end(2'000'010, 7);
  end(2'000'010, 8);
  EXPECT_THAT(waits_, ElementsAre("7 2000000 of 2000000 stack 2", "8 2000000 of 2000000"));
}

TEST_F(LockTimesTest, AreCutAtTheEndsOfSlots) {
  times_.begin_slot(100, 1);
  end(110, 7);
  end(115, 7);
  begin(120, 8);
  times_.end_slot(150);
  end(160, 8);
  EXPECT_THAT(waits_, ElementsAre("7 10 of 10", "8 30 of 30"));
}

TEST_F(LockTimesTest, OfInterruptsOfTheIdleThreadAreLeftOut) {
  times_.begin_slot(0, 1);
  begin(10, 0);
  end(20, 0);
  EXPECT_THAT(waits_, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::waits
