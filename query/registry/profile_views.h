// Views whose answers come from the rows of profiles alone.
#pragma once

#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// top, callers, callees, diff, series, leaks, stability, shared, flame, export/pprof, export/gperftools, sql, values
std::vector<View> profile_views();

}  // namespace plimsoll::query
