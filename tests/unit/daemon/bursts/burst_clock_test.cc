#include "daemon/bursts/burst_clock.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/time.h"

namespace {
int g_settime_errno = 0;
}  // namespace

// In place of the C library's: setting the clock of the machine that runs tests is out of the question.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): theirs are reserved names
extern "C" int timerfd_settime(int fd, int flags, const itimerspec* at, itimerspec* before) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, at, before));
  if (g_settime_errno != 0) {
    errno = g_settime_errno;
    return -1;
  }
  return result;
}

namespace plimsoll::bursts {
namespace {

Result<Waited> wait_with(int settime_errno) {
  const UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  auto timer = WallTimer::make();
  if (!timer) {
    return propagate(timer);
  }
  g_settime_errno = settime_errno;
  auto waited = timer->wait_until(kNsPerSecond, stop.get());
  g_settime_errno = 0;
  return waited;
}

TEST(WallTimer, ReachesTimesThatArePast) {
  const auto waited = wait_with(0);
  ASSERT_TRUE(waited) << waited.error().text();
  EXPECT_EQ(*waited, Waited::kReached);
}

// As the kernel tells of a clock that was set between two waits.
TEST(WallTimer, TellsThatTheClockWasSetBetweenWaits) {
  const auto waited = wait_with(ECANCELED);
  ASSERT_TRUE(waited) << waited.error().text();
  EXPECT_EQ(*waited, Waited::kClockWasSet);
}

TEST(WallTimer, TellsOtherErrors) {
  EXPECT_FALSE(wait_with(EINVAL));
}

}  // namespace
}  // namespace plimsoll::bursts
