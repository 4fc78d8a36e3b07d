// Names of functions over HTTP, by the symbol tables that the server has: for stacks that readers have and it does not store by name.
#pragma once

#include <string>
#include <vector>

#include "http/routes.h"

namespace plimsoll::server {

// GET /api/v1/functions/BUILD_ID?at=e1136,f40 (symbolizer/worker/function_names.h): a line for each place, in their order; empty: unknown.
// 404 where there is no table of that build. Right::kRead.
std::vector<http::Route> function_routes(const std::string& data_dir);

}  // namespace plimsoll::server
