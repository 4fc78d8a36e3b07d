#include "daemon/limits.h"

#include <algorithm>

#include "daemon/collector.h"

namespace plimsoll {

wire::Assignment within_limits(const wire::Assignment& assignment, const LocalLimits& limits) {
  wire::Assignment limited = assignment;
  const uint32_t rate_hz = assignment.rate_hz() == 0 ? kDefaultRateHz : assignment.rate_hz();
  limited.set_rate_hz(std::min(rate_hz, limits.max_rate_hz));
  limited.set_duration_ns(std::min(assignment.duration_ns(), limits.max_window_ns));
  for (wire::EventRequest& event : *limited.mutable_events()) {
    const auto known = perf::find_event(event.name());
    if (known && event.period() != 0) {
      event.set_period(std::max(event.period(), perf::mean_period(*known, limits.max_rate_hz)));
    }
  }
  if (limits.events.empty()) {
    return limited;
  }
  const wire::Assignment slowed = limited;
  limited.clear_events();
  for (const wire::EventRequest& event : slowed.events()) {
    if (std::ranges::find(limits.events, event.name()) != limits.events.end()) {
      *limited.add_events() = event;
    }
  }
  if (limited.events().empty() && assignment.events().empty()) {
    // The default event is the machine's choice, and so are the limits.
    for (const std::string& name : limits.events) {
      limited.add_events()->set_name(name);
    }
  }
  if (limited.events().empty()) {
    limited.set_duration_ns(0);
  }
  return limited;
}

}  // namespace plimsoll
