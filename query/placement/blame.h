// Which jobs and platforms are to blame where no placement fits.
//
// A Shortage's weights prove it (Farkas' lemma): over the platforms with weight, sum load_i x min_j (weight_j cost_ij) is more than sum weight_j
// capacity_j, whatever is placed where. A job counts in it only if it can run on none but these platforms.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "query/placement/placement.h"

namespace plimsoll::query {

struct Blame {
  std::vector<uint32_t> platforms;  // that are overcommitted
  std::vector<uint32_t> jobs;       // that can run nowhere else, those that need most first
  double needed = 0;                // by these jobs, each on the one of these platforms where it costs least
  double capacity = 0;              // of these platforms
};

// Where `needed` is at most `capacity`, the jobs would fit if each had its cheapest platform to itself, and do not fit together.
Blame blame_for(const PlacementProblem& problem, const Shortage& shortage);

}  // namespace plimsoll::query
