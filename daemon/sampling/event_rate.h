// How often an event happens here, for choosing a period where the rate is unknown.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "daemon/events/event_type.h"

namespace plimsoll::perf {

// Occurrences a second on that of `cpus` where there were most, counted for `duration_ns`, for which the caller waits. 0 where
// there was none.
Result<double> busiest_rate(const EventType& event, std::span<const int> cpus, int64_t duration_ns);

// The mean period for `rate_hz` samples a second where `per_second` occurrences were counted, given the period until now: at
// most eight times longer or shorter than that, since what was counted need not go on, and at least `least`.
uint64_t followed_period(double per_second, double rate_hz, uint64_t period, uint64_t least);

}  // namespace plimsoll::perf
