// From an event's name to a perf_event_attr: pure functions, testable without privileges.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace plimsoll::perf {

enum class EventUnit { kCount, kNanoseconds };

// An event that can be asked for by name.
struct EventType {
  std::string_view name;
  uint32_t type;    // PERF_TYPE_*
  uint64_t config;  // PERF_COUNT_*
  EventUnit unit;
  // How many happen in a second on one busy CPU, roughly: a sampling rate becomes a period by it. Only the
  // number of samples depends on it, never a result, since results are scaled by the counter's own total.
  double nominal_per_second;
  // A clock goes on while a CPU has nothing to do; its samples leave idle time out.
  bool is_clock;
};

std::span<const EventType> known_events();

// The known event of that name; the error's hint names the nearest one.
Result<EventType> find_event(std::string_view name);

// The mean number of events between samples for `rate_hz` samples a second on a busy CPU; at least 1.
uint64_t mean_period(const EventType& event, uint32_t rate_hz);

// Sampling of `event`, disabled, for a ring buffer whose samples have the layout of records.h (SampleRecord).
// `stack_bytes` of each thread's user stack go along with a sample, a multiple of 8. The call chain has what the
// kernel finds by following frame pointers, in any case.
perf_event_attr sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes,
                              uint32_t stack_bytes);

// The same event, whose samples say where the program was and nothing more (kBareSampleType).
perf_event_attr bare_sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes);

// No samples, but the records that tell which process had what mapped: mmap, comm, fork, exit; and which control groups were made.
perf_event_attr side_band_attr(uint32_t wakeup_bytes);

}  // namespace plimsoll::perf
