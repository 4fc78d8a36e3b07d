#include "daemon/window_cost.h"

#include <fmt/core.h>

namespace plimsoll {

WindowCost::WindowCost(Governor* governor, int64_t now_ns) : governor_(governor), start_ns_(now_ns) {
  if (governor_ != nullptr) {
    governor_->observe(now_ns);
    governor_->restart_peak();
    cpu_at_start_ns_ = governor_->state().usage.cpu_time_ns;
  }
}

void WindowCost::note_slowdown(uint32_t slowdown, int64_t now_ns) {
  if (slowdown_ > 1) {
    slowed_ns_ += now_ns - slowed_since_ns_;
  }
  slowdown_ = slowdown;
  slowed_since_ns_ = now_ns;
}

void WindowCost::look_for_reason_to_end() {
  if (governor_ == nullptr || !reason_to_end_.empty()) {
    return;
  }
  reason_to_end_ = governor_->reason_to_pause();
  if (reason_to_end_.empty() && governor_->is_over_memory()) {
    reason_to_end_ =
        fmt::format("its memory of {} MiB is used up", governor_->budget().resident_bytes >> 20U);
  }
}

void WindowCost::write(wire::RawProfile& profile, int64_t now_ns) {
  if (governor_ == nullptr) {
    return;
  }
  note_slowdown(slowdown_, now_ns);
  governor_->observe(now_ns);
  const Governor::State state = governor_->state();
  wire::CollectionCost& cost = *profile.mutable_cost();
  cost.set_cpu_time_ns(state.usage.cpu_time_ns - cpu_at_start_ns_);
  cost.set_peak_resident_bytes(state.peak_resident_bytes);
  cost.set_slowdown(slowdown_);
  cost.set_slowed_ns(slowed_ns_);
  cost.set_cut_short(reason_to_end_);
  if (slowed_ns_ > 0) {
    profile.add_notes(fmt::format(
        "the rate was lowered, to 1/{} in the end, for {:.1f} of {:.1f} s: the daemon may use {:g} % "
        "of a core (limits.max_cpu_percent)",
        slowdown_, static_cast<double>(slowed_ns_) / 1e9, static_cast<double>(now_ns - start_ns_) / 1e9,
        governor_->budget().cpu_share * 100));
  }
  if (!reason_to_end_.empty()) {
    profile.add_notes("the window ended early: the daemon keeps a limit, " + reason_to_end_);
  }
}

}  // namespace plimsoll
