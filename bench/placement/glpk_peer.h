// GLPK's primal simplex method, behind its presolve, on the same problem: its default, and a quarter of what its dual one takes.
#pragma once

#include "base/result.h"
#include "query/placement/placement.h"

namespace plimsoll::bench {

// The least cost. kUnsupported where GLPK finds none.
Result<double> min_cost_by_glpk(const query::PlacementProblem& problem);

}  // namespace plimsoll::bench
