// The largest cells of an answer.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "store/model/aggregation.h"

namespace plimsoll::store {

// The `count` cells with the largest sums of the first measure, over all machine groups; of equal ones those with smaller keys.
// In ascending order of their keys.
Cells largest_cells(const Cells& cells, size_t count);

// The largest cells of what aggregate() answers. Where the request has machine groups, all rows are first summed without
// them: those sums are then needed for few cells alone, in place of millions.
Result<Cells> aggregate_top(const RowSource& rows, const AggregateRequest& request, size_t count);

}  // namespace plimsoll::store
