// Joined bursts as Chrome's trace format (JSON), which ui.perfetto.dev, Firefox Profiler and speedscope open. Pure; any thread.
#pragma once

#include <string>

#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

// Threads by process, their states as slices with the request and who woke them, requests as slices of a process of their own.
// Times in us of CLOCK_MONOTONIC.
std::string chrome_json(const BurstRecording& recording);

}  // namespace plimsoll::traces
