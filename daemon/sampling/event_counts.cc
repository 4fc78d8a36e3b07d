#include "daemon/sampling/event_counts.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::perf {
namespace {

double share_of(const CounterDelta& counter) {
  return static_cast<double>(counter.time_running_ns) / static_cast<double>(counter.time_enabled_ns);
}

}  // namespace

int64_t EventCounts::scaling_time_running_ns() const {
  if (total == 0 || estimated_total <= 0) {
    return static_cast<int64_t>(time_running_ns);
  }
  const double part = std::min(1.0, static_cast<double>(total) / estimated_total);
  return std::llround(static_cast<double>(time_enabled_ns) * part);
}

EventCounts sum_of(const std::vector<CounterDelta>& counters) {
  EventCounts sum;
  sum.min_share = counters.empty() ? 1 : HUGE_VAL;
  sum.max_share = counters.empty() ? 1 : 0;
  uint64_t enabled_of_those_that_ran_ns = 0;
  for (const CounterDelta& counter : counters) {
    sum.total += counter.value;
    sum.time_enabled_ns += counter.time_enabled_ns;
    sum.time_running_ns += counter.time_running_ns;
    if (counter.time_enabled_ns > 0) {
      sum.min_share = std::min(sum.min_share, share_of(counter));
      sum.max_share = std::max(sum.max_share, share_of(counter));
    }
    if (counter.time_running_ns > 0) {
      const auto value = static_cast<double>(counter.value);
      enabled_of_those_that_ran_ns += counter.time_enabled_ns;
      sum.estimated_total += value / share_of(counter);
      sum.busiest_per_second =
          std::max(sum.busiest_per_second, value * 1e9 / static_cast<double>(counter.time_running_ns));
    }
  }
  if (enabled_of_those_that_ran_ns > 0) {
    sum.estimated_total *=
        static_cast<double>(sum.time_enabled_ns) / static_cast<double>(enabled_of_those_that_ran_ns);
  }
  if (sum.time_enabled_ns == 0) {
    sum.min_share = sum.max_share = 1;
  }
  return sum;
}

}  // namespace plimsoll::perf
