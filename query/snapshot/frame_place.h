// Where a frame stands.
#pragma once

#include <cstdint>

namespace plimsoll::query {

// One frame of a location: `depth` counts from the innermost inlined one. Where a location has no frames, depth 0 is
// a stand-in named after its binary.
struct FramePlace {
  uint32_t location = 0;  // 0: no stack was recorded
  uint32_t depth = 0;
};

}  // namespace plimsoll::query
