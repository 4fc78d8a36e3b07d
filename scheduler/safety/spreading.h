// Who of those drawn measures when, so that never too many do at once: of what belongs together (the instances of a job, the machines of
// a platform) at most a share. docs/scheduling.md says why, and what it costs.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::scheduler {

// What a machine has of something that belongs together.
struct GroupPart {
  uint32_t group = 0;
  double members = 0;  // on the machine
};

// Of each group, by number: how many members may be measured at once. Where one machine has more, it alone may.
using GroupLimits = std::vector<double>;

// The turn of each machine, from 0 up to below `turns`: the first one in which there is room for all that it is part of. Nothing: there is
// none. Who comes first is left to chance, by the seed; where there is room for all, all have the first turn. Costs a look at each group of
// a machine for each turn tried.
std::vector<std::optional<uint32_t>> take_turns(std::span<const std::vector<GroupPart>> machines,
                                                const GroupLimits& limits, uint32_t turns, uint64_t seed);

}  // namespace plimsoll::scheduler
