#include "scheduler/assignments/order.h"

#include <fmt/ranges.h>

#include "base/time.h"
#include "scheduler/assignments/burst_draws.h"

namespace plimsoll::scheduler {

Status check(const MeasuringOrder& order) {
  constexpr int64_t kShortestNs = kNsPerSecond / 10;
  if (order.window_ns < kShortestNs || order.window_ns > kLongestOrderNs) {
    return with_field(fail(ErrorCode::kInvalid, "the window of an order must be between {} and {}, is {}",
                           format_duration(kShortestNs), format_duration(kLongestOrderNs),
                           format_duration(order.window_ns)),
                      "for");
  }
  if (order.max_machines == 0) {
    return with_field(fail(ErrorCode::kInvalid, "must be at least 1 machine"), "max_machines");
  }
  return order.collects.has_bursts() ? check_bursts(order.collects.bursts(), kMaxBurstsNs) : Status();
}

std::string text_of(const MeasuringOrder& order) {
  const std::string machines =
      order.machines.empty() ? std::string() : fmt::format(" of {}", fmt::join(order.machines, ", "));
  const std::string jobs =
      order.jobs.empty() ? std::string() : fmt::format(" that run {}", fmt::join(order.jobs, " or "));
  const std::string bursts =
      order.collects.has_bursts() ? "; " + text_of(order.collects.bursts()) : std::string();
  return fmt::format("ordered by {}: max {} machines{}{}, for {}{}", order.by, order.max_machines, machines,
                     jobs, format_duration(order.window_ns), bursts);
}

}  // namespace plimsoll::scheduler
