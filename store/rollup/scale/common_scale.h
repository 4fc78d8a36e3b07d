// One scale for the hits of several profiles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::store {

// What one profile counted of an event: hits x scale is its value.
struct ScaledHits {
  double scale = 0;
  uint64_t hits = 0;
};

struct CommonScale {
  double scale = 0;
  uint64_t hits = 0;                  // of all, each multiplied
  std::vector<uint32_t> multipliers;  // by profile: of its hits; 1 where it has none
};

// Scales of profiles are about the same: a counter's total over its hits, which come at random periods. So hits are counted in a unit of which
// each scale is a multiple, within 1/64: the smallest scale over the smallest of 1, 2, 4, ... 64 that will do. The common scale is the exact
// value of all over all hits: what each profile had is within 1/32 of what it was, and the sum is what it was. Equal scales stay as they are.
//
// Nothing where there is no such unit: a value is 0, negative or no number, or hits would pass 2^53, up to which sums of them are exact.
std::optional<CommonScale> common_scale(std::span<const ScaledHits> parts);

}  // namespace plimsoll::store
