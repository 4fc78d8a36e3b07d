// From an event to a perf_event_attr: pure functions, testable without privileges.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "daemon/events/event_names.h"
#include "daemon/events/event_type.h"

namespace plimsoll::perf {

// The mean number of events between samples for `rate_hz` samples a second on a busy CPU; at least 1.
uint64_t mean_period(const EventTraits& event, uint32_t rate_hz);

// Sampling of `event`, disabled, for a ring buffer whose samples have the layout of records.h (SampleRecord).
// `stack_bytes` of each thread's user stack go along with a sample, a multiple of 8. The call chain has what the
// kernel finds by following frame pointers, in any case. This has the event's first code: set_code() has another.
perf_event_attr sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes,
                              uint32_t stack_bytes);

// The same event, whose samples say where the program was and nothing more (kBareSampleType).
perf_event_attr bare_sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes);

// The same event in user mode, whose samples have the branches that were taken before them, too (kBranchSampleType): by Intel's LBR,
// AMD's LbrExtV2 or Arm's BRBE.
perf_event_attr branch_sampling_attr(const EventType& event, uint64_t period, uint32_t wakeup_bytes);

// The event counted without samples, from when it is opened.
perf_event_attr counting_attr(const EventType& event);

void set_code(const EventCode& code, perf_event_attr& attr);

// No samples, but the records that tell which process had what mapped: mmap, comm, fork, exit; and which control groups were made.
perf_event_attr side_band_attr(uint32_t wakeup_bytes);

}  // namespace plimsoll::perf
