// Monitoring: /healthz, /readyz, /metrics.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "server/health/health.h"

namespace plimsoll::server {

// GET /healthz (the process answers) and /readyz (`readiness` succeeds), for everybody; /metrics, with the right to read. Borrows the
// collector.
std::vector<http::Route> health_routes(HealthCollector& health, std::function<Status()> readiness);

}  // namespace plimsoll::server
