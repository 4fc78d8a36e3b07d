#include "daemon/bursts/burst_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"

namespace plimsoll::bursts {
namespace {

// Until a recording tells: events by column, compressed (docs/bursts.md has 4 to 6).
constexpr double kAssumedBytesPerEvent = 6;

}  // namespace

BurstBudget::Limits BurstBudget::limits_of(uint64_t max_bytes, double max_overhead, int64_t duration_ns,
                                           size_t cpus) {
  return {.max_bytes = max_bytes,
          .max_cpu_ns = static_cast<int64_t>(max_overhead * static_cast<double>(duration_ns) *
                                             static_cast<double>(cpus))};
}

void BurstBudget::note_burst(int64_t cpu_ns, uint64_t events, uint64_t samples) {
  newest_events_ = events;
  newest_cpu_ns_ = cpu_ns + static_cast<int64_t>(events - samples) * kKernelNsPerEvent +
                   static_cast<int64_t>(samples) * kKernelNsPerSample;
  cpu_ns_ += newest_cpu_ns_;
}

void BurstBudget::note_recording(uint64_t bytes, uint64_t events) {
  bytes_ += bytes;
  events_in_bytes_ += events;
}

uint64_t BurstBudget::bytes_left() const {
  return limits_.max_bytes - std::min(limits_.max_bytes, bytes_);
}

std::string BurstBudget::reason_to_end(uint64_t pending_events) const {
  if (cpu_ns_ + newest_cpu_ns_ > limits_.max_cpu_ns) {
    return fmt::format("recording has taken {:.3g} s of CPU time, and may take {:.3g} s (max_overhead)",
                       static_cast<double>(cpu_ns_) / kNsPerSecond,
                       static_cast<double>(limits_.max_cpu_ns) / kNsPerSecond);
  }
  const double bytes_per_event = events_in_bytes_ == 0
                                     ? kAssumedBytesPerEvent
                                     : static_cast<double>(bytes_) / static_cast<double>(events_in_bytes_);
  const double expected = bytes_per_event * static_cast<double>(pending_events + newest_events_);
  return expected > static_cast<double>(bytes_left())
             ? fmt::format(
                   "recordings take {} KiB of {} (max_bytes), and another burst is expected not to fit",
                   (limits_.max_bytes - bytes_left()) >> 10U, limits_.max_bytes >> 10U)
             : std::string();
}

}  // namespace plimsoll::bursts
