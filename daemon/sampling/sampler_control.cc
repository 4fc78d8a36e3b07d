// What is done with a sampler's events while they are open: on and off, whose turn it is, how often they sample.
#include <linux/membarrier.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/time.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/sampler.h"

namespace plimsoll::perf {
namespace {

// Each redraw costs what has gone by of a period.
constexpr uint64_t kPeriodsPerDraw = 20;

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

void Sampler::account_ticks(OpenEvent& event, bool goes_on) {
  const int64_t now_ns = monotonic_now_ns();
  if (event.enabled_since_ns != 0) {
    event.drawn_for_ns += static_cast<uint64_t>(now_ns - event.enabled_since_ns);
  }
  event.enabled_since_ns = goes_on ? now_ns : 0;
  if (type_of(event).is_clock) {
    const uint64_t ticks = event.drawn_for_ns / event.period;
    event.ticks_due += ticks - event.drawn_ticks;
    event.drawn_ticks = ticks;
  }
}

Status Sampler::enable_side_band() {
  reader_->start();
  for (const UniqueFd& fd : side_band_) {
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return fail_errno(errno, "enabling the side band");
    }
  }
  return {};
}

Status Sampler::enable() {
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
  account_waiting(true);
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
    account_ticks(event, true);
  }
  return {};
}

Status Sampler::disable() {
  Status disabled = disable_set(kEverySet);
  if (auto others = disable_set(turns_.current()); !others) {
    disabled = others;
  }
  account_waiting(false);
  wait_for_samples_being_written();
  return disabled;
}

Status Sampler::disable_set(uint32_t set) {
  Status disabled;
  for (OpenEvent& event : events_) {
    if (set_of(event) != set) {
      continue;
    }
    account_ticks(event, false);
    if (event.part.leads && ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0) != 0) {
      disabled = fail_errno(errno, "disabling event {}", type_of(event).name);
    }
  }
  return disabled;
}

uint64_t Sampler::mean_period_of(const OpenEvent& event) const {
  constexpr uint64_t kLongest = uint64_t{1} << 62;  // the kernel wants half again as much to have a sign bit
  return event.part.mean_period > kLongest / slowdown_ ? kLongest : event.part.mean_period * slowdown_;
}

Result<bool> Sampler::is_redraw_due(OpenEvent& event) {
  const uint64_t mean = mean_period_of(event);
  if (event.drawn_from != mean) {
    return true;
  }
  const uint64_t enough = mean > UINT64_MAX / kPeriodsPerDraw ? UINT64_MAX : mean * kPeriodsPerDraw;
  if (type_of(event).is_clock) {
    account_ticks(event, event.enabled_since_ns != 0);
    return event.drawn_for_ns >= enough;
  }
  const auto counter = read_counter(event.fd);
  return counter ? Result<bool>(counter->value - event.drawn_at_count >= enough) : propagate(counter);
}

Status Sampler::redraw_period(OpenEvent& event) {
  const bool is_fixed = slowdown_ == 1 && !options_.events[event.part.index].random_period;
  uint64_t period = mean_period_of(event);
  event.drawn_from = period;
  if (is_fixed && period == event.period) {
    return {};
  }
  if (!is_fixed) {
    std::uniform_int_distribution<uint64_t> draw(std::max<uint64_t>(1, period - period / 2),
                                                 period + period / 2);
    period = draw(random_);
  }
  if (::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period) != 0) {
    return fail_errno(errno, "setting the period of event {}", type_of(event).name);
  }
  const auto counter = read_counter(event.fd);
  if (!counter) {
    return propagate(counter);
  }
  account_ticks(event, event.enabled_since_ns != 0);
  event.period = period;
  event.drawn_for_ns = 0;
  event.drawn_ticks = 0;
  event.drawn_at_count = counter->value;
  return {};
}

void Sampler::account_waiting(bool window_is_open) {
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
  account_waiting(true);
  return enable_set(after);
}

Status Sampler::redraw_periods() {
  for (OpenEvent& event : events_) {
    const auto is_due = is_redraw_due(event);
    if (!is_due) {
      return propagate(is_due);
    }
    if (auto redrawn = *is_due ? redraw_period(event) : Status(); !redrawn) {
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

uint64_t Sampler::waited_ns(const OpenEvent& event) const {
  const auto waiting = waiting_.find(set_of(event));
  return waiting == waiting_.end() ? 0 : waiting->second.total_ns - waiting->second.taken_ns;
}

Result<std::vector<EventCounts>> Sampler::take_counts() {
  std::vector<std::vector<CounterDelta>> counters(options_.events.size());
  std::vector<EventCounts> of_parts(options_.events.size());
  for (OpenEvent& event : events_) {
    const auto now = read_counter(event.fd);
    if (!now) {
      return propagate(now);
    }
    const CounterValues before = std::exchange(event.taken, *now);
    if (event.part.leads) {
      counters[event.part.index].push_back(
          {.value = now->value - before.value,
           .time_enabled_ns = now->time_enabled_ns - before.time_enabled_ns + waited_ns(event),
           .time_running_ns = now->time_running_ns - before.time_running_ns});
    }
    EventCounts& sum = of_parts[event.part.index];
    sum.lost += now->lost - before.lost;
    sum.ticks_due += event.ticks_due - std::exchange(event.taken_ticks, event.ticks_due);
  }
  for (auto& [set, waiting] : waiting_) {
    waiting.taken_ns = waiting.total_ns;
  }
  std::vector<EventCounts> counts;
  for (size_t i = 0; i < counters.size(); ++i) {
    counts.push_back(sum_of(counters[i]));
    counts.back().lost = of_parts[i].lost;
    counts.back().ticks_due = of_parts[i].ticks_due;
  }
  return counts;
}

}  // namespace plimsoll::perf
