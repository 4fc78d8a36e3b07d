// `top`: what is hot, by any dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/views/parameters.h"
#include "query/views/selection.h"
#include "query/views/snapshot.h"
#include "query/views/table.h"

namespace plimsoll::query {

struct TopRequest {
  Selection selection;
  std::string ratio;          // "NUMERATOR/DENOMINATOR", two events; empty: of one event, the selection's
  std::vector<Dimension> by;  // at least one
  size_t limit = 20;
};

// From names and texts as they stand on a command line or in a URL's query: event, ratio, where, by, since, until,
// limit. An unknown name, or a text that does not fit, is kInvalid with that field.
Result<TopRequest> parse_top(const Parameters& parameters, int64_t now_ns);

// Columns: the dimensions, self, self_share, self_share_margin, total, total_share, total_share_margin.
//
// self counts a sample at its leaf (the innermost inlined frame), total once for each group that any frame of its stack
// falls into. For dimensions that are not of frames the two are equal. Shares are of the selection's sum. Margins are
// absent: they need several machines, and the statistics for that are not built yet.
// Sorted by self, then total, then the dimensions; cut at the limit.
//
// Of a ratio: the table of ratio.h.
Result<Table> top(const TopRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
