// Strata of which too little is known are joined with their neighbours: collapsed (docs/statistics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::statistics {

// New numbers, dense from 0, for the strata that have `counts` machines each, such that every one has at least two (where
// there are two at all). Strata with one machine are joined with each other, in pairs as they come; one that is left alone,
// with the stratum before it (else behind it). Empty strata take the number of the first.
//
// Neighbours should be alike (the same part of the fleet in successive draws), and their order must not follow from what was
// measured: joining what came out equal would make the margin too narrow.
std::vector<uint32_t> collapse(std::span<const size_t> counts);

}  // namespace plimsoll::statistics
