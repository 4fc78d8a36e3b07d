// `stability`: would another look at the fleet say the same? And if not, what would help.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "statistics/stability/stability.h"

namespace plimsoll::query {

struct StabilityRequest {
  Selection selection;
  std::vector<Dimension> by;  // at least one
  size_t top = 20;            // rows of either half that distances are over
  statistics::Tolerance tolerance;
  size_t permutations = 1000;
};

// Parameters: those of a selection (query/selection/parameters.h); by, top, tolerance (a Manhattan distance), permutations.
Result<StabilityRequest> parse_stability(const Parameters& parameters, int64_t now_ns);

// Rows: "halves of the machines" (at random within each part of the fleet), "halves of the time" (before and after the middle;
// profiles count where the middle of their window is). Columns:
//   comparison; first_machines, second_machines
//   verdict: stable, noisy, moved (statistics/stability/stability.h), too few machines, one half is empty
//   distance: Manhattan distance over the rows among the top of either half; half of it is the part of the time that was spent
//     elsewhere. distance_by_chance: the same as permutations of machines have it on average; distance_p: the share of permutations
//     as far apart
//   entropy_change, in bits, of the second half; entropy_change_by_chance, entropy_change_p likewise
// and of the whole selection, the same in each row:
//   entropy, entropy_margin, entropy_margin_kind: in bits, its bias taken off
//   noise: the distance that two draws of as many machines are expected to have by chance
//   machines_needed, times_longer: where it is noisy, how many more machines would bring that down to the tolerance, or, of the same
//     machines, how many times as long; absent where that alone does not help
//
// Profiles are of self, of the kLargestRows largest rows and of all others as one. A machine that was drawn several times is one of a
// window, and one for each draw where more machines are asked for. Costs two passes over the rows, and a second for 1,000 permutations
// of 5,000 machines. kNotFound where the selection has no samples.
Result<Table> stability(const StabilityRequest& request, const Snapshot& snapshot);

inline constexpr size_t kLargestRows = 1000;

}  // namespace plimsoll::query
