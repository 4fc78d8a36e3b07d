// Whether the server does what it is there for (/readyz).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "query/operations/running_server.h"

namespace plimsoll::server {

// kUnavailable where work has failed for longer than it may, from the first failure in a row to the newest one, or is stuck in a pass:
// names each with its error, since when, and what to do. `now_ns`: wall clock.
Status readiness(const std::vector<query::BackgroundWorkHealth>& works, int64_t now_ns);

}  // namespace plimsoll::server
