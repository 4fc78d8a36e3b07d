// Which job belongs on which platform: every job's load is placed, no platform does more than it can, and all of it together costs least
// (Ren et al., "Google-Wide Profiling", IEEE Micro 2010, place jobs by a linear program over CPI x load).
//
//   minimize    sum over i, j of  cost_ij x load_ij
//   subject to  sum over j of load_ij             =  load_i       of each job i
//               sum over i of cost_ij x load_ij  <=  capacity_j   of each platform j
//               load_ij >= 0
//
// Units: load in instructions a second. Cost is cycles an instruction (CPI), and then capacity is cycles a second; or CPU-nanoseconds an
// instruction, and then capacity is CPU-nanoseconds a second, of which one CPU has 1e9. So capacity has the unit of the objective. Cycles of
// platforms with different clock rates are not worth the same: there only nanoseconds make sense.
//
// Prices: at the optimum each platform has a shadow price p_j >= 0, how much cost one more unit of its capacity would save; it is 0 where capacity
// is left. A job runs only where cost_ij x (1 + p_j), its cost at prices, is least.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/result.h"

namespace plimsoll::query {

// A job on a platform, where its cost is known.
struct Pair {
  uint32_t job = 0;
  uint32_t platform = 0;
  double cost = 0;                    // of an instruction, above 0
  std::optional<double> margin = {};  // of the cost, at 95 %; nothing: unknown
  bool is_bound = false;              // the cost is not measured: it is at most that
};

struct PlacementProblem {
  std::vector<double> loads;       // by job, above 0
  std::vector<double> capacities;  // by platform, above 0
  std::vector<Pair> pairs;         // by job, then platform; each once, and at least one of each job

  // The first pair of each job, and the end of all.
  std::vector<size_t> first_pairs() const;
};

struct Placement {
  std::vector<double> loads;   // by pair; exactly 0 where nothing is placed
  std::vector<double> prices;  // by platform
  double cost = 0;
  double min_cost = 0;  // no placement costs less: what the prices prove, whatever the solver did
};

// No placement fits.
struct Shortage {
  double missing =
      0;  // capacity, in its unit; at least that much more is needed, and it is enough on the right platforms
  std::vector<double>
      weights;  // by platform, 0 to 1: what each unit of its capacity would take off `missing`
};

// The cost of a pair at the platforms' prices.
double cost_at_prices(const Pair& pair, std::span<const double> prices);

// kInvalid, with the number of job, platform or pair, for a problem that makes no sense; kUnsupported where the solver gives up. What a placement
// costs is within about 1e-9 of the least. At most as many jobs as there are platforms are on more than one. Takes 1 s of CPU time for 10,000
// jobs on 20 platforms.
Result<std::variant<Placement, Shortage>> place_jobs(const PlacementProblem& problem);

}  // namespace plimsoll::query
