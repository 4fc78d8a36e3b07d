// The wall clock of bursts: waiting for an edge, and how right the clock is.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

// What the kernel estimates; not synchronized where adjtimex(2) is refused. About 1 us.
traces::ClockState read_clock_state();
// Why that is refused, in words, as by ProtectClock= of systemd; empty: it is not.
std::string clock_state_problem();

// CLOCK_REALTIME - CLOCK_MONOTONIC.
int64_t wall_offset_ns();

enum class Waited { kReached, kClockWasSet, kStopped };

// Waits for times of the wall clock. One thread.
class WallTimer {
 public:
  static Result<WallTimer> make();

  // Until `wall_ns`; kClockWasSet where the clock was set meanwhile or since the last wait, whichever way: then the time to wait for may be another.
  // kStopped when `stop_fd` is readable.
  Result<Waited> wait_until(int64_t wall_ns, int stop_fd);

 private:
  explicit WallTimer(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace plimsoll::bursts
