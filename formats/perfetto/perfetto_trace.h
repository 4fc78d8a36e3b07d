// Joined bursts as a trace of Perfetto (protobuf), which ui.perfetto.dev and its trace processor open. Pure; any thread.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/bursts/search/scene.h"

namespace plimsoll::formats {

// The parts of each burst, in the order of time. On wall clock time with the parts' shifts: BOOTTIME of the trace is CLOCK_REALTIME.
//
// A track for each thread, with a slice for each request that it works for and within that one for each state; a track for each request.
// Of one machine tracks have process and thread IDs, and switches and wake-ups are ftrace events, from which Perfetto makes its own
// CPU tracks; samples have their stacks. Of several machines, whose IDs may be equal, tracks lie below one for each machine.
//
// In pieces of some 64 KiB; ends with the first failure of `write`, and returns that. Memory: the intervals of one burst twice.
Status write_perfetto_trace(const std::vector<std::vector<traces::SceneMachine>>& bursts,
                            const std::function<Status(std::string_view piece)>& write);

}  // namespace plimsoll::formats
