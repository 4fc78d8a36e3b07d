// One burst after the other: waits for the wall clock to reach the next one, and records it.
#pragma once

#include <utility>

#include "base/result.h"
#include "daemon/bursts/burst_clock.h"
#include "daemon/bursts/recorder.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

// One thread. Borrows the recorder.
class BurstLoop {
 public:
  // Readable `stop_fd` ends each call at once.
  static Result<BurstLoop> make(const traces::BurstConfig& config, Recorder& recorder, int stop_fd);

  // The next burst that has not begun, by the wall clock as it is now.
  traces::BurstTimes next() const;
  // Until it begins. Anything but kReached: it is not to be recorded, and next() may be another one.
  Result<Waited> wait_for(const traces::BurstTimes& planned);
  // From now until its end. One in which the clock is set ends at once, since its end is another time then; the offsets show it. One
  // that is stopped is cut (is_stopped()).
  Result<traces::Burst> record(const traces::BurstTimes& planned);

  // Whether the last call ended by `stop_fd`.
  bool is_stopped() const { return is_stopped_; }

 private:
  BurstLoop(const traces::BurstConfig& config, Recorder& recorder, int stop_fd, WallTimer timer)
      : config_(config), recorder_(&recorder), stop_fd_(stop_fd), timer_(std::move(timer)) {}
  Result<Waited> wait_until_ms(int64_t wall_ms);

  traces::BurstConfig config_;
  Recorder* recorder_;
  int stop_fd_;
  WallTimer timer_;
  bool is_stopped_ = false;
};

}  // namespace plimsoll::bursts
