// The part of execution.h that tests reach into. Only query/fdo/code and its tests include this.
#pragma once

#include <cstdint>

#include "query/fdo/code/execution.h"

namespace plimsoll::fdo {

// execution_of_samples() with another bound of the work of smoothing all functions, as FlowOptions::budget counts it. Functions with the most samples come
// first; those after the bound keep their samples by instruction, which a note says.
Execution execution_within(const ProgramCode& code, const BinaryCounts& counts, const SampleOptions& options,
                           uint64_t max_work);

}  // namespace plimsoll::fdo
