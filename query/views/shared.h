// `shared`: code that is important in no job and large in all of them together, so that nobody looks at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

enum class CodePart { kSelf, kTotal };

struct SharedRequest {
  Selection selection;
  std::vector<Dimension> by;  // of frames: the code; at least one
  Dimension across = {};      // who runs it: not of frames or stacks
  CodePart part = CodePart::kSelf;
  double below = 0.05;  // code that takes a larger share of one of them, beyond doubt, is important there
  size_t limit = 20;
  bool margins = true;
};

// Parameters: those of a selection (query/selection/parameters.h); by (function), across (job), part (self or total), below, limit, margins.
Result<SharedRequest> parse_shared(const Parameters& parameters, int64_t now_ns);

// Columns: the dimensions; then, of the code's self or total (by the name of either), its value, share, and the share's
// margin, low, high and margin_kind as top has them;
//   spread_over: how many of `across` have any of it
//   largest_part, largest_part_in: of the code's value, what the one that has most of it has, and which that is
//   highest_share, highest_share_in: of what one of `across` takes as a whole, the highest share that the code has, and where. Where
//     few samples say so, a lower share that more say wins: the order is that of Wilson's lower bound at 3 standard deviations.
// Left out is code of which that bound is above `below`, and code that one of `across` alone has; a note says how much of it. Sorted by
// value, then the dimensions; cut at the limit. Costs a pass over the rows with a sum for each stack in each of `across`
// (kTooLarge past the request's max_sums), and one for the margins.
Result<Table> shared(const SharedRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
