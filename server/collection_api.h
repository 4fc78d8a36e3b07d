// Who is measured at all: what is stopped, and the orders that change it.
#pragma once

#include <string>
#include <vector>

#include "http/routes.h"
#include "scheduler/harm/brake.h"

namespace plimsoll::server {

// GET /api/v1/collection (query::collection), and POST /api/v1/collection/stop?reason=, /api/v1/collection/resume, which answer with the
// same. An order must be of type application/json, which a page of another site cannot make a browser send. Borrows the brake.
std::vector<http::Route> collection_routes(scheduler::Brake& brake, const std::string& data_dir);

}  // namespace plimsoll::server
