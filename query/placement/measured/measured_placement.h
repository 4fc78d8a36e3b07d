// A placement of what a server has measured, with the room that its platforms have today: what would be gained by moving jobs alone, without
// a machine more (docs/placement.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "query/placement/measured/measured_pairs.h"
#include "query/placement/placement_table.h"

namespace plimsoll::query {

struct MeasuredPlacementRequest {
  MeasuredPairsRequest measured;
  double headroom = 0;  // each platform may take so much more than today, as a share of it
  std::map<std::string, double, std::less<>> room;  // of a platform, in place of `headroom`
  std::optional<double> max_unknown_cost = {};
  PlacementRows rows = PlacementRows::kPlacement;
};

// Parameters: those of a selection but for event; headroom (a share), room (PLATFORM=SHARE, which may be repeated), max_unknown_cost, by
// (placement, platform, move or summary).
Result<MeasuredPlacementRequest> parse_measured_placement(const Parameters& parameters, int64_t now_ns);

// placement_table(), with the notes and the coverage of what was measured. kNotFound where no machine counted cycles and instructions, and
// where `room` names a platform on which nothing runs.
Result<Table> measured_placement(const MeasuredPlacementRequest& request, const Snapshot& snapshot,
                                 const LiveFleet& fleet);

}  // namespace plimsoll::query
