// Copies of the machines and the draws over HTTP, for query servers (store/replica, docs/scaling.md).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "store/replica/directory_copies.h"

namespace plimsoll::server {

struct DirectoryDoorOptions {
  // Whether the rows are in ClickHouse: else nobody else can answer questions about them, and the routes say so.
  bool has_rows_elsewhere = false;
  std::function<Status(uint64_t bytes)> check_room = {};
};

// GET /api/v1/directory: what the newest copy is (wire::DirectoryCopy), with an ETag; 304 where the caller has it. The header Age says how
// many seconds ago it was current; with ?newest=yes 0. GET /api/v1/directory/ID/NAME: a file of it; 404 once newer copies have taken its
// place. For the role replica. Borrows the copies.
std::vector<http::Route> directory_routes(store::DirectoryCopies& copies, DirectoryDoorOptions options);

}  // namespace plimsoll::server
