// Stops of collection, and orders: stop, resume, profile on demand.
#pragma once

#include <string>
#include <vector>

#include "http/routes.h"
#include "scheduler/assignments/drawer.h"
#include "scheduler/safety/collection_breaker.h"
#include "store/directory/disk_reserve.h"
#include "store/ingest.h"

namespace plimsoll::server {

// GET /api/v1/collection (query::collection), and POST /api/v1/collection/stop?reason=, /api/v1/collection/resume, which answer with the
// same; POST /api/v1/collection/measure with the parameters of parse_measuring_order(), which answers with the draw that was made for it
// (query::draws), or kUnsupported where `drawer` is null: then every machine measures all the time. An order must be of type application/json, which a page of another site cannot make a browser send. Borrows all.
std::vector<http::Route> collection_routes(scheduler::CollectionBreaker& breaker, scheduler::Drawer* drawer,
                                           store::Ingest& ingest, store::DiskReserve& reserve);

}  // namespace plimsoll::server
