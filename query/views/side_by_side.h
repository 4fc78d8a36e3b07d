// Several events side by side, by any dimensions: cycles with the instructions and the misses that they came with.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

constexpr size_t kMaxBeside = 15;  // events beside the first

struct SideBySideRequest {
  Selection selection;              // whose event is the first: rows stand by it
  std::vector<std::string> beside;  // names of the others, at least one
  std::vector<Dimension> by;
  size_t limit = 20;
  bool margins = true;
};

// Columns: the dimensions; of the first event E its self, under its own name, "E_share", with the share's margin, low, high and
// "E_margin_kind"; then of each event F of the others its self and share likewise but without margins, and F over E: "F/E",
// with "F/E_margin", "F/E_low", "F/E_high", "F/E_margin_kind", absent where either has no samples. Sorted by E, then the dimensions; cut
// at the limit. Margins of shares know of all machines; those of ratios, in a row of some machines (a platform), of these alone.
//
// Only profiles with all of the events go in; a note says how many were left out. kNotFound where the snapshot lacks an event,
// kInvalid where one is named twice. Costs two passes over the rows, one without margins.
Result<Table> side_by_side(const SideBySideRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
