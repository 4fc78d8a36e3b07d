// Which requests are judged, and which ones they are compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

enum class Side : uint8_t { kNeither, kWindow, kReference };

// By trace, as in Assembly::traces.
using Sides = std::vector<Side>;

std::vector<uint32_t> traces_of(const Sides& sides, Side side);

// For judging how much two parts of the reference differ by themselves: up to `max_blocks` times a run of its traces, as long as the
// window, becomes the window, and the other traces of the reference the reference. Runs overlap by half; none are longer than a third of
// the reference. Empty where the reference has under `kMinBlock` x 3 traces.
// A window of fewer traces scatters more than a part of so many: parts are as short as it is.
inline constexpr size_t kMinBlock = 20;
std::vector<Sides> reference_blocks(const Sides& sides, size_t max_blocks);

}  // namespace plimsoll::diagnosis
