// `callers` and `callees`: who calls a function, and what it calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/rows/neighbours.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct CallersRequest {
  Selection selection;
  Neighbour neighbour = Neighbour::kCaller;
  Predicate of;
  std::string name;  // of the function, where `of` is of that alone
  size_t limit = 20;
  bool margins = true;
};

// Parameters: those of a selection (query/selection/parameters.h); function (a name, or ~REGEX for all whose names it matches), or of (a filter on
// frames, of all functions that it matches: "binary=libz.so.1"); limit, margins (yes or no).
Result<CallersRequest> parse_callers(const Parameters& parameters, int64_t now_ns);
Result<CallersRequest> parse_callees(const Parameters& parameters, int64_t now_ns);

// Columns: caller or callee, a function's name, then as top() has them: total, and total_share (of all that the function and what it
// calls takes) with its margin. They add up to the function's total: see rows/neighbours.h for what recursion counts as.
//
// kNotFound where no selected stack has the function; the hint says which name is near. A note says where functions whose names contain the
// name have more: memcpy is __memcpy_avx_unaligned on most machines. Costs what top() does, of a name twice.
Result<Table> callers(const CallersRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
