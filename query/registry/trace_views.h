// Views of request traces.
#pragma once

#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// diagnosis, trace, findings
std::vector<View> trace_views();

}  // namespace plimsoll::query
