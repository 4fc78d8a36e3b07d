// A library for LD_PRELOAD: the wall clock of the program is PLIMSOLL_TEST_CLOCK_SHIFT_MS ahead of the
// machine's. So are timers of the wall clock that wait for a time. What the kernel says of the clock's error
// stays.
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t shift_ns() {
  constexpr int64_t kNsPerMs = 1'000'000;
  static const int64_t shift = [] {
    const char* const ms = std::getenv("PLIMSOLL_TEST_CLOCK_SHIFT_MS");
    return ms == nullptr ? 0 : std::strtoll(ms, nullptr, 10) * kNsPerMs;
  }();
  return shift;
}

timespec shifted(const timespec& time, int64_t ns) {
  const int64_t sum_ns = time.tv_sec * kNsPerSecond + time.tv_nsec + ns;
  return {sum_ns / kNsPerSecond, sum_ns % kNsPerSecond};
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *now = shifted(*now, shift_ns());
  }
  return result;
}

// Of the wall clock alone a timer is cancelled when the clock is set.
int timerfd_settime(int fd, int flags, const itimerspec* at, itimerspec* before) noexcept {
  constexpr int kOfWallClock = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
  itimerspec real = *at;
  if ((flags & kOfWallClock) == kOfWallClock) {
    real.it_value = shifted(real.it_value, -shift_ns());
  }
  return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, &real, before));
}
}
