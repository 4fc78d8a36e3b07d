// Views of request traces.
#pragma once

#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// diagnosis, regressions, trace, findings, bursts
std::vector<View> trace_views();

}  // namespace plimsoll::query
