#include "daemon/limits.h"

#include <algorithm>

#include "daemon/collector.h"

namespace plimsoll {

namespace {

constexpr int64_t kLatestStartNs = INT64_MAX / 2;  // in 2116; an end can be told

// With a period of its own an event may be sampled as often as any: what holds then is the share of the stacks.
uint32_t allowed_stack_rate_hz(const wire::Assignment& limited, const LocalLimits& limits) {
  const bool has_periods = std::ranges::any_of(
      limited.events(), [](const wire::EventRequest& event) { return event.period() != 0; });
  if (!has_periods || limits.max_stack_rate_hz >= limits.max_rate_hz) {
    return limits.max_stack_rate_hz;
  }
  const uint64_t share_of_rate =
      uint64_t{limited.rate_hz()} * limits.max_stack_rate_hz / std::max(limits.max_rate_hz, 1U);
  return static_cast<uint32_t>(std::max<uint64_t>(1, share_of_rate));
}

// At most the rate, which is what none says.
uint32_t stack_rate_hz(const wire::Assignment& limited) {
  return limited.stack_rate_hz() == 0 ? limited.rate_hz()
                                      : std::min(limited.stack_rate_hz(), limited.rate_hz());
}

void limit_stacks(wire::Assignment& limited, const LocalLimits& limits) {
  const uint32_t stack_bytes = limited.stack_bytes() == 0 ? kDefaultStackBytes : limited.stack_bytes();
  if (stack_bytes > limits.max_stack_bytes) {
    limited.set_stack_bytes(limits.max_stack_bytes);
  }
  if (const uint32_t allowed_hz = allowed_stack_rate_hz(limited, limits);
      stack_rate_hz(limited) > allowed_hz) {
    limited.set_stack_rate_hz(allowed_hz);
  }
}

// A low rate with a short period has few samples by the one and many by the other: each limit holds for the period too.
void limit_period(wire::EventRequest& event, const wire::Assignment& limited, const LocalLimits& limits) {
  const auto known = perf::describe_event(event.name());
  if (!known) {
    return;
  }
  const uint64_t rate_hz = limited.rate_hz();
  const uint64_t asked = event.period() != 0 ? event.period() : perf::mean_period(*known, limited.rate_hz());
  if (event.period() == 0 && asked > 1) {
    return;
  }
  uint64_t period = std::max(asked, perf::mean_period(*known, limits.max_rate_hz));
  const uint64_t with_all_stacks = perf::mean_period(*known, limits.max_stack_rate_hz);
  if (period < with_all_stacks) {
    // With a period of 1 there is a stack with each sample, whatever their share.
    const uint64_t with_share = (with_all_stacks * stack_rate_hz(limited) + rate_hz - 1) / rate_hz;
    period = std::max({period, uint64_t{2}, with_share});
  }
  if (period > asked) {
    event.set_period(period);
  }
}

}  // namespace

wire::Assignment within_limits(const wire::Assignment& assignment, const LocalLimits& limits) {
  wire::Assignment limited = assignment;
  const uint32_t rate_hz = assignment.rate_hz() == 0 ? kDefaultRateHz : assignment.rate_hz();
  limited.set_rate_hz(std::min(rate_hz, limits.max_rate_hz));
  limited.set_duration_ns(std::min(assignment.duration_ns(), limits.max_window_ns));
  limit_stacks(limited, limits);
  limited.set_branch_rate_hz(std::min(assignment.branch_rate_hz(), limits.max_rate_hz));
  for (wire::EventRequest& event : *limited.mutable_events()) {
    limit_period(event, limited, limits);
  }
  return limited;
}

WantedAssignment accept(const wire::Assignment& assignment, const LocalLimits& limits) {
  WantedAssignment wanted{within_limits(assignment, limits)};
  if (wanted.assignment.duration_ns() <= 0) {
    wanted.refusal =
        assignment.duration_ns() > 0 ? "limits.max_window permits no window at all" : "it has no duration";
  } else if (!assignment.continuous() &&
             (assignment.start_ns() <= 0 || assignment.start_ns() > kLatestStartNs)) {
    wanted.refusal = "it has no start";
  }
  return wanted;
}

}  // namespace plimsoll
