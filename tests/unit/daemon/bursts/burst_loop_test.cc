#include "daemon/bursts/burst_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/time.h"
#include "base/unique_fd.h"
#include "tests/unit/daemon/bursts/fake_recorder.h"

namespace plimsoll::bursts {
namespace {

class BurstLoopTest : public ::testing::Test {
 protected:
  BurstLoop loop_of(uint64_t config_bits) {
    return *BurstLoop::make(*traces::BurstConfig::of_bits(config_bits), recorder_, stop_.get());
  }

  const UniqueFd stop_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  FakeMachine machine_;
  FakeRecorder recorder_{machine_};
};

TEST_F(BurstLoopTest, RecordsOneBurstAfterTheOther) {
  BurstLoop loop = loop_of(kFastConfig);
  int64_t before_ms = 0;
  for (int i = 0; i < 5; ++i) {
    const traces::BurstTimes planned = loop.next();
    EXPECT_GT(planned.begin_ms, before_ms) << "no burst comes twice";
    EXPECT_EQ(planned.end_ms, planned.begin_ms + 8);
    EXPECT_EQ(planned.begin_ms % 16, 8);
    before_ms = planned.begin_ms;
    const auto begun = loop.wait_for(planned);
    ASSERT_TRUE(begun) << begun.error().text();
    if (*begun != Waited::kReached) {
      continue;  // the clock of this machine was set
    }
    EXPECT_GE(wall_now_ns(), planned.begin_ms * kNsPerMs);
    const auto burst = loop.record(planned);
    ASSERT_TRUE(burst) << burst.error().text();
    EXPECT_EQ(burst->planned, planned);
    EXPECT_EQ(burst->events.size(), 10);
    EXPECT_GE(burst->off_ns, burst->on_ns);
  }
  EXPECT_FALSE(loop.is_stopped());
  EXPECT_EQ(machine_.enabled.load(), machine_.disabled.load());
}

TEST_F(BurstLoopTest, EndsAtOnceWhereItIsToStop) {
  // Half of all the time, 17 minutes each.
  BurstLoop loop = loop_of(uint64_t{1} << 20);
  ASSERT_EQ(::eventfd_write(stop_.get(), 1), 0);
  const traces::BurstTimes planned = loop.next();
  const auto begun = loop.wait_for(planned);
  ASSERT_TRUE(begun);
  EXPECT_EQ(*begun, Waited::kStopped);
  EXPECT_TRUE(loop.is_stopped());
  const auto cut = loop.record(planned);
  ASSERT_TRUE(cut) << "what is recorded is kept";
  EXPECT_TRUE(loop.is_stopped());
  EXPECT_EQ(machine_.disabled.load(), 1);
}

TEST_F(BurstLoopTest, ARecorderThatFailsIsAnError) {
  machine_.fails = true;
  BurstLoop loop = loop_of(kFastConfig);
  EXPECT_FALSE(loop.record(loop.next()));
}

}  // namespace
}  // namespace plimsoll::bursts
