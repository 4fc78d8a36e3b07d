// One burst within the content of a recording (burst_file.h): its times, losses, and events by column. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "traces/bursts/recording/burst_recording.h"
#include "traces/bursts/recording/varints.h"

namespace plimsoll::traces {

// How many kinds of events version 1 has, whose bursts are the smallest.
inline constexpr uint64_t kKindsWithoutDraws = 7;
inline constexpr uint64_t kMinBurstBytes = 8 + kKindsWithoutDraws;

// What the events of a recording may refer to.
struct BurstBounds {
  size_t threads = 0;
  uint64_t kinds = 0;
  uint64_t last_stack = 0;
};

void write_burst(const Burst& burst, VarintWriter& out);
// Every index is within its bound, whatever the bytes are; times are not checked.
Burst read_burst(uint64_t max_events, const BurstBounds& bounds, VarintReader& in);
// So that what reads recordings need not look out for overflow. Of events in the order of time.
bool has_sound_times(const Burst& burst);

}  // namespace plimsoll::traces
