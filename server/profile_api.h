// Compiler profiles over HTTP: build pipelines pull them from the server, which has the binaries itself.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "http/routes.h"
#include "query/fdo/process/profile_process.h"
#include "query/snapshot/snapshot.h"
#include "server/query_api.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/search/file_search.h"

namespace plimsoll::server {

struct ProfileSettings {
  symbolizer::TableWorker worker;  // `plimsoll fdo worker`; without argv the server makes no profiles
  symbolizer::SymbolRoots roots;   // where binaries and debug files may lie
  symbolizer::ProcessLimits limits = fdo::kProfileLimits;
  std::string folder;                     // for a profile that is being made; it has no name there
  std::chrono::milliseconds max_time{0};  // for a request; 0: there is none
};

// GET /api/v1/fdo/autofdo?build_id=ID: the profile, with an ETag; If-None-Match gets 304 while samples, parameters and
// this program are the same, also while another profile is made. format=report gets the report instead. One at a time is made: others get
// 503 meanwhile. Borrows the cache. docs/fdo.md has the parameters.
std::vector<http::Route> profile_routes(query::SnapshotCache& snapshots, const QueryHooks& hooks,
                                        const ProfileSettings& settings);

}  // namespace plimsoll::server
