// The read API: the views of the registry (query/registry) over HTTP.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::server {

// GET /api/v1/NAME for each view that answers, with its parameters in the URL's query; and /api/v1/openapi.json, which describes
// them. `write_audit_log` brings the log to its file before it is shown. Borrows the cache.
std::vector<http::Route> query_routes(query::SnapshotCache& snapshots,
                                      std::function<Status()> write_audit_log);

}  // namespace plimsoll::server
