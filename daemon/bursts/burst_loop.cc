#include "daemon/bursts/burst_loop.h"

#include "base/time.h"

namespace plimsoll::bursts {

Result<BurstLoop> BurstLoop::make(const traces::BurstConfig& config, Recorder& recorder, int stop_fd) {
  auto timer = WallTimer::make();
  return timer ? Result<BurstLoop>(BurstLoop(config, recorder, stop_fd, std::move(*timer)))
               : propagate(timer);
}

traces::BurstTimes BurstLoop::next() const {
  const int64_t now_ms = wall_now_ns() / kNsPerMs;
  const traces::BurstTimes burst = config_.burst_at_or_after(now_ms);
  return now_ms < burst.begin_ms ? burst : config_.burst_at_or_after(burst.end_ms);
}

Result<Waited> BurstLoop::wait_until_ms(int64_t wall_ms) {
  const auto waited = timer_.wait_until(wall_ms * kNsPerMs, stop_fd_);
  is_stopped_ = waited && *waited == Waited::kStopped;
  return waited;
}

Result<Waited> BurstLoop::wait_for(const traces::BurstTimes& planned) {
  return wait_until_ms(planned.begin_ms);
}

Result<traces::Burst> BurstLoop::record(const traces::BurstTimes& planned) {
  traces::Burst burst;
  burst.planned = planned;
  if (const Status enabled = recorder_->enable(burst); !enabled) {
    return propagate(enabled);
  }
  const auto ended = wait_until_ms(planned.end_ms);
  const Status disabled = recorder_->disable(burst);
  const Status finished = disabled ? recorder_->finish(burst) : disabled;
  if (!ended || !finished) {
    return ended ? propagate(finished) : propagate(ended);
  }
  return burst;
}

}  // namespace plimsoll::bursts
