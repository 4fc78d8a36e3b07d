// `top`: what is hot, by any dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/rows/neighbours.h"
#include "query/selection/parameters.h"
#include "query/selection/predicate.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct TopRequest {
  Selection selection;
  std::string ratio;  // "NUMERATOR/DENOMINATOR", two events; empty: of one event, the selection's
  std::vector<std::string> beside = {};  // further events beside the selection's; not with a ratio
  std::vector<Dimension> by;             // at least one
  size_t limit = 20;
  bool margins = true;
  std::vector<Predicate> only = {};  // which rows are shown, by dimensions that are grouped by
};

// Parameters: those of a selection (query/selection/parameters.h); ratio, compare_event (may be repeated), by (function), only (may be
// repeated; with neither of ratio and compare_event), limit, margins (yes or no). An unknown name, or a text that does not fit, is kInvalid with that field.
Result<TopRequest> parse_top(const Parameters& parameters, int64_t now_ns);

// Columns: the dimensions; then of self, and of total, its value, share, and the share's margin, low, high (its 95 % interval, which
// is not quite symmetric) and margin_kind (what it is made of, or why there is none: statistics/estimate.h).
//
// self and total are those of row_sums.h. Shares are of the selection's sum, whichever rows are shown. Sorted by self, then total, then the dimensions; cut at
// the limit. Costs two passes over the rows, one without margins: kTooLarge where machines x rows shown are too many.
//
// Of a ratio: the table of ratio.h; of events beside each other: that of side_by_side.h.
Result<Table> top(const TopRequest& request, const Snapshot& snapshot);

struct NamedShare {
  std::string name;
  double share = 0;
};
// The total of each entry of a dimension, as top() has it without margins, in its order. For those that compute with shares.
Result<std::vector<NamedShare>> total_shares(const Selection& selection, const Dimension& dimension,
                                             const Snapshot& snapshot);

// The same as top() where dimensions of whole stacks stand for labels of them: of no ratio, and of total alone, which self is equal to.
Result<Table> top_of_labels(const TopRequest& request, const StackLabels& labels, const Snapshot& snapshot);

}  // namespace plimsoll::query
