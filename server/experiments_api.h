// Definitions of experiments that all users of this server share.
#pragma once

#include <vector>

#include "http/routes.h"
#include "store/directory/disk_reserve.h"
#include "store/draws/draw_store.h"

namespace plimsoll::server {

// PUT /api/v1/experiments/NAME with a definition (query::definition_from_json()), which answers with it (query::experiments), and DELETE of
// the same path, which answers with those that are left; a note says what was done. Both are orders. PUT of what is there changes nothing; of
// an experiment that has begun, query::check_change() says what may change. DELETE: kNotFound where there is none. Borrows the reserve.
std::vector<http::Route> experiment_routes(store::DrawStore store, store::DiskReserve& reserve);

}  // namespace plimsoll::server
