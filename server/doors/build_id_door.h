// The repository of binaries as gdb, perf and others ask elfutils' debuginfod.
#pragma once

#include "http/routes.h"
#include "symbolizer/repository/repository.h"

namespace plimsoll::server {

// GET /buildid/HEX/{debuginfo,executable}, /buildid/HEX/section/NAME and /buildid/HEX/source/PATH. Right::kRead. Borrows the repository.
http::Route build_id_route(const symbolizer::BinaryRepository& repository);

}  // namespace plimsoll::server
