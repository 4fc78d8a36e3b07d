#include "daemon/window_cost.h"

#include <fmt/core.h>

#include "base/time.h"

namespace plimsoll {

WindowCost::WindowCost(Governor* governor) : governor_(governor) {
  if (governor_ != nullptr) {
    governor_->observe(monotonic_now_ns());
    governor_->restart_peak();
    slowdown_ = governor_->slowdown();
    cpu_at_start_ns_ = governor_->state().usage.cpu_time_ns;
  }
}

void WindowCost::look_for_reason_to_end() {
  if (governor_ == nullptr || !reason_to_end_.empty()) {
    return;
  }
  reason_to_end_ = governor_->reason_to_pause();
  if (reason_to_end_.empty() && governor_->is_over_memory()) {
    reason_to_end_ = fmt::format("memory limit of {} MiB reached", governor_->budget().resident_bytes >> 20U);
  }
  if (const uint32_t wanted = governor_->slowdown(); reason_to_end_.empty() && wanted != slowdown_) {
    reason_to_end_ = fmt::format("sampling rate changed from 1/{} to 1/{}", slowdown_, wanted);
  }
}

void WindowCost::write(wire::RawProfile& profile) const {
  if (governor_ == nullptr) {
    return;
  }
  governor_->observe(monotonic_now_ns());
  const Governor::State state = governor_->state();
  wire::CollectionCost& cost = *profile.mutable_cost();
  cost.set_cpu_time_ns(state.usage.cpu_time_ns - cpu_at_start_ns_);
  cost.set_peak_resident_bytes(state.peak_resident_bytes);
  cost.set_slowdown(slowdown_);
  cost.set_cut_short(reason_to_end_);
  if (slowdown_ > 1) {
    profile.add_notes(fmt::format(
        "the rate was lowered to 1/{}: the daemon may use {:g} % of a core (limits.max_cpu_percent)",
        slowdown_, governor_->budget().cpu_share * 100));
  }
  if (!reason_to_end_.empty()) {
    profile.add_notes("the window ended early, at a limit of the daemon: " + reason_to_end_);
  }
}

}  // namespace plimsoll
