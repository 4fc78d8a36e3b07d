// The read API: the views over HTTP, as JSON.
#pragma once

#include <vector>

#include "http/routes.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::server {

// GET /api/v1/top with the parameters of query::parse_top(), /api/v1/flame with those of parse_flame(),
// /api/v1/export/pprof and /api/v1/export/gperftools with those of parse_export(),
// /api/v1/machines with those of parse_machines(), /api/v1/jobs with those of parse_jobs(), /api/v1/observations with those of parse_observations(),
// /api/v1/measured-pairs with those of parse_measured_pairs(),
// /api/v1/sql with those of parse_sql(). Borrows the cache.
std::vector<http::Route> query_routes(query::SnapshotCache& snapshots);

}  // namespace plimsoll::server
