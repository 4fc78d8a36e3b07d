// Joined bursts as Chrome's trace format (JSON), which ui.perfetto.dev, Firefox Profiler and speedscope open. Pure; any thread.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

// Threads by process, their states as slices with the request and who woke them, requests as slices of a process of their own; samples
// with their stacks.
// Times in us of CLOCK_MONOTONIC. In pieces of some 64 KiB, since a document may be many times as large as its recording; ends with the
// first failure of `write`, and returns that. Memory: one joined burst besides the recording.
Status write_chrome_json(const BurstRecording& recording,
                         const std::function<Status(std::string_view piece)>& write);

}  // namespace plimsoll::traces
