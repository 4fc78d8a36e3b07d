// Switches and wake-ups of one machine as a trace of Perfetto has them: events of ftrace, of which it makes tracks of CPUs.
#pragma once

#include "formats/perfetto/packet_writer.h"
#include "traces/bursts/search/scene.h"

namespace plimsoll::formats::perfetto {

// Of a burst, on the repaired wall clock.
void add_ftrace(const traces::SceneMachine& machine, PacketWriter& out);

}  // namespace plimsoll::formats::perfetto
