// A made-up fleet to place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "query/placement/placement.h"

namespace plimsoll::bench {

struct FleetShape {
  size_t jobs = 0;
  size_t platforms = 0;
  double known = 1;     // share of the pairs that have a cost; each job has one at least
  double capacity = 1;  // of all platforms, as a share of what jobs cost in the mean
};

// Loads differ 400-fold, platforms by a factor of 2.7, jobs by one of 5, and how well a job suits a platform by 15 % either way. The same for a seed.
query::PlacementProblem make_fleet(const FleetShape& shape, uint64_t seed);

}  // namespace plimsoll::bench
