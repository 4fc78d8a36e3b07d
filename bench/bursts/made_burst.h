// A burst to search.
#pragma once

#include <cstddef>

#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bench {

// A recording of one burst with so many events: threads that work for a request each, block and are woken
// again.
traces::BurstRecording made_burst(size_t events);

inline constexpr const char* kMadeBurstSearch =
    "request{whole = yes, duration > 200us} with >= 5 own blocked{duration > 20us, thread > 100}";

}  // namespace plimsoll::bench
