// Stacks of samples within the content of a recording (burst_file.h). Pure; any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "traces/bursts/recording/burst_recording.h"
#include "traces/bursts/recording/varints.h"

namespace plimsoll::traces {

void write_stacks(const BurstStacks& stacks, VarintWriter& out);
// Every index is checked. Takes what it needs of the memory that is left.
Result<BurstStacks> read_stacks(uint64_t& bytes_left, VarintReader& in);

}  // namespace plimsoll::traces
