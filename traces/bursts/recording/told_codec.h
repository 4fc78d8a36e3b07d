// What applications told, within the content of a recording (burst_file.h): behind the bursts, whose events have indexes of it. Pure; any
// thread.
#pragma once

#include <cstdint>

#include "traces/bursts/recording/burst_recording.h"
#include "traces/bursts/recording/varints.h"

namespace plimsoll::traces {

void write_told(const BurstRecording& recording, VarintWriter& out);
// Texts and details take at most so many bytes of memory, besides the bytes of the texts, which the content has too.
void read_told(uint64_t max_bytes, BurstRecording& recording, VarintReader& in);
// That no index of an event or a detail leads to a table that is shorter.
bool has_sound_details(const BurstRecording& recording);

}  // namespace plimsoll::traces
