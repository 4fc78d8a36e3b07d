#include "daemon/sampling/event_rate.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "base/time.h"
#include "daemon/sampling/event_config.h"
#include "daemon/sampling/open_event.h"

namespace plimsoll::perf {

Result<double> busiest_rate(const EventType& event, std::span<const int> cpus, int64_t duration_ns) {
  std::vector<UniqueFd> counters;
  for (const int cpu : cpus) {
    const EventCode* const code = code_on(event, cpu);
    if (code == nullptr) {
      continue;
    }
    perf_event_attr attr = counting_attr(event);
    set_code(*code, attr);
    auto fd = open_event(attr, cpu, event.name);
    if (!fd) {
      return propagate(fd);
    }
    counters.push_back(std::move(*fd));
  }
  const timespec duration{duration_ns / kNsPerSecond, duration_ns % kNsPerSecond};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
  double most = 0;
  for (const UniqueFd& counter : counters) {
    const auto values = read_counter(counter);
    if (!values) {
      return propagate(values);
    }
    if (values->time_running_ns > 0) {
      most = std::max(
          most, static_cast<double>(values->value) * 1e9 / static_cast<double>(values->time_running_ns));
    }
  }
  return most;
}

uint64_t followed_period(double per_second, double rate_hz, uint64_t period, uint64_t least) {
  constexpr double kMaxChange = 8;
  const auto now = static_cast<double>(period);
  const double wanted = std::clamp(std::round(per_second / rate_hz), now / kMaxChange, now * kMaxChange);
  return std::max({static_cast<uint64_t>(wanted), least, uint64_t{1}});
}

}  // namespace plimsoll::perf
