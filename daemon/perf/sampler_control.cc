// What is done with a sampler's events while they are open: on and off, whose turn it is, how often they sample.
#include <linux/membarrier.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/time.h"
#include "daemon/perf/open_event.h"
#include "daemon/perf/sampler.h"

namespace plimsoll::perf {
namespace {

// The interrupt that disables an event may hit a CPU that has counted an occurrence and is about to write its sample,
// which then arrives after the event was disabled. Such code runs with preemption disabled, and a grace period of RCU,
// which this membarrier is, waits for the end of all of it. Where the kernel refuses (nohz_full), time has to do: the
// writing takes microseconds.
void wait_for_samples_being_written() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) {
    constexpr timespec kTwoMilliseconds{0, 2'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kTwoMilliseconds, nullptr);
  }
}

}  // namespace

void Sampler::reckon_ticks(OpenEvent& event, bool goes_on) const {
  const int64_t now_ns = monotonic_now_ns();
  if (event.period_start_ns != 0 && type_of(event).is_clock) {
    event.ticks_due += static_cast<uint64_t>(now_ns - event.period_start_ns) / event.period;
  }
  event.period_start_ns = goes_on ? now_ns : 0;
}

Status Sampler::enable_side_band() {
  for (const UniqueFd& fd : side_band_) {
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "enabling the side band");
    }
  }
  return {};
}

Status Sampler::enable() {
  // Before the first sample: the periods may be those of another slowdown.
  if (auto redrawn = redraw_periods(); !redrawn) {
    return redrawn;
  }
  if (auto enabled = enable_side_band(); !enabled) {
    return enabled;
  }
  if (auto enabled = enable_set(kEverySet); !enabled) {
    return enabled;
  }
  const auto enabled = enable_set(turns_.next(random_));
  turn_ends_ns_ = monotonic_now_ns() + options_.turn_ns;
  reckon_waiting(true);
  return enabled;
}

Status Sampler::enable_set(uint32_t set) {
  for (OpenEvent& event : events_) {
    if (set_of(event) != set) {
      continue;
    }
    if (event.part.leads && ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "enabling event {}", type_of(event).name);
    }
    reckon_ticks(event, true);
  }
  return {};
}

Status Sampler::disable() {
  Status disabled = disable_set(kEverySet);
  if (auto others = disable_set(turns_.current()); !others) {
    disabled = others;
  }
  reckon_waiting(false);
  wait_for_samples_being_written();
  return disabled;
}

Status Sampler::disable_set(uint32_t set) {
  Status disabled;
  for (OpenEvent& event : events_) {
    if (set_of(event) != set) {
      continue;
    }
    reckon_ticks(event, false);
    if (event.part.leads && ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0) != 0) {
      disabled = fail_errno(errno, "disabling event {}", type_of(event).name);
    }
  }
  return disabled;
}

Status Sampler::redraw_period(OpenEvent& event) {
  constexpr uint64_t kLongestPeriod = uint64_t{1}
                                      << 62;  // the kernel wants half again as much to have a sign bit
  uint64_t period = event.part.mean_period > kLongestPeriod / slowdown_ ? kLongestPeriod
                                                                        : event.part.mean_period * slowdown_;
  const bool is_fixed = slowdown_ == 1 && !options_.events[event.part.index].random_period;
  if (!is_fixed) {
    std::uniform_int_distribution<uint64_t> draw(std::max<uint64_t>(1, period - period / 2),
                                                 period + period / 2);
    period = draw(random_);
  } else if (period == event.period) {
    return {};
  }
  if (::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period) != 0) {
    return fail_errno(errno, "setting the period of event {}", type_of(event).name);
  }
  reckon_ticks(event, event.period_start_ns != 0);
  event.period = period;
  return {};
}

void Sampler::reckon_waiting(bool window_is_open) {
  const int64_t now_ns = monotonic_now_ns();
  for (auto& [set, waiting] : waiting_) {
    const bool waits = window_is_open && set != turns_.current();
    if (waiting.since_ns != 0) {
      waiting.total_ns += static_cast<uint64_t>(now_ns - waiting.since_ns);
    }
    waiting.since_ns = waits ? now_ns : 0;
  }
}

Status Sampler::pass_turn() {
  if (!turns_.any() || monotonic_now_ns() < turn_ends_ns_) {
    return {};
  }
  const uint32_t before = turns_.current();
  const uint32_t after = turns_.next(random_);
  turn_ends_ns_ = monotonic_now_ns() + options_.turn_ns;
  if (after == before) {
    return {};
  }
  if (auto disabled = disable_set(before); !disabled) {
    return disabled;
  }
  reckon_waiting(true);
  // Or else a timer would go on with what was left of its period when it was stopped, which nobody reckons with.
  for (OpenEvent& event : events_) {
    if (auto redrawn = set_of(event) == after ? redraw_period(event) : Status(); !redrawn) {
      return redrawn;
    }
  }
  return enable_set(after);
}

Status Sampler::redraw_periods() {
  for (OpenEvent& event : events_) {
    if (auto redrawn = redraw_period(event); !redrawn) {
      return redrawn;
    }
  }
  return {};
}

void Sampler::set_mean_period(size_t index, uint64_t mean_period) {
  options_.events[index].mean_period = mean_period;
  for (OpenEvent& open : events_) {
    if (open.part.index == index) {
      open.part = part_of(index, open.part.share, open.part.leads);
    }
  }
}

Result<std::vector<double>> Sampler::busiest_rates() {
  std::vector<double> rates(options_.events.size());
  for (OpenEvent& event : events_) {
    const auto values = read_counter(event.fd);
    if (!values) {
      return propagate(values);
    }
    const uint64_t ran_ns = values->time_running_ns - event.rated.time_running_ns;
    if (ran_ns > 0) {
      const auto occurrences = static_cast<double>(values->value - event.rated.value);
      double& most = rates[event.part.index];
      most = std::max(most, occurrences * 1e9 / static_cast<double>(ran_ns));
    }
    event.rated = *values;
  }
  return rates;
}

}  // namespace plimsoll::perf
