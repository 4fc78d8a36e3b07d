// The web page over HTTP.
#pragma once

#include <span>
#include <vector>

#include "http/routes.h"
#include "web/page_files.h"

namespace plimsoll::server {

// GET / for "index.html", and a route for each file; without authentication, since the page has no data: it asks the API, which
// authenticates. Files in assets/ are cached for a year, for their names change with their contents; others are asked for again, and
// answered with 304 where they are the same. Borrows the files.
std::vector<http::Route> page_routes(std::span<const web::PageFile> files);

}  // namespace plimsoll::server
