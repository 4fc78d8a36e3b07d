#include "daemon/bursts/burst_clock.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/time.h"

namespace plimsoll::bursts {

traces::ClockState read_clock_state() {
  constexpr int64_t kNsPerUs = 1000;
  timex state{};
  const int result = ::adjtimex(&state);
  return {.is_synchronized = result >= 0 && result != TIME_ERROR && (state.status & STA_UNSYNC) == 0,
          .max_error_ns = state.maxerror * kNsPerUs,
          .estimated_error_ns = state.esterror * kNsPerUs};
}

std::string clock_state_problem() {
  timex state{};
  return ::adjtimex(&state) >= 0
             ? std::string()
             : fmt::format(
                   "whether the clock is synchronized is unknown: adjtimex: {}; systemd units require "
                   "ProtectClock=no and SystemCallFilter=adjtimex clock_adjtime",
                   std::error_code(errno, std::generic_category()).message());
}

int64_t wall_offset_ns() {
  // Between two looks at the other clock: preemption in between costs half of what it took.
  const int64_t before_ns = monotonic_now_ns();
  const int64_t wall_ns = wall_now_ns();
  const int64_t after_ns = monotonic_now_ns();
  return wall_ns - (before_ns + (after_ns - before_ns) / 2);
}

Result<WallTimer> WallTimer::make() {
  UniqueFd fd(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(errno, "creating a timer of the wall clock");
  }
  return WallTimer(std::move(fd));
}

Result<Waited> WallTimer::wait_until(int64_t wall_ns, int stop_fd) {
  itimerspec at{};
  at.it_value.tv_sec = wall_ns / kNsPerSecond;
  at.it_value.tv_nsec = wall_ns % kNsPerSecond;
  if (::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, nullptr) != 0) {
    // Set since the last wait: the timer is armed nevertheless (timerfd_settime(2)), and the next call knows the new clock.
    if (errno == ECANCELED) {
      return Waited::kClockWasSet;
    }
    return fail_errno(errno, "setting a timer of the wall clock");
  }
  for (;;) {
    std::array<pollfd, 2> fds{{{fd_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) {
      return fail_errno(errno, "waiting for a burst");
    }
    if ((fds[1].revents & POLLIN) != 0) {
      return Waited::kStopped;
    }
    uint64_t expirations = 0;
    if (::read(fd_.get(), &expirations, sizeof expirations) > 0) {
      return Waited::kReached;
    }
    if (errno == ECANCELED) {
      return Waited::kClockWasSet;
    }
  }
}

}  // namespace plimsoll::bursts
