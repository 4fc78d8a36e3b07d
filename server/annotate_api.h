// Annotated code over HTTP: of binaries and source files that the server has.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "http/routes.h"
#include "query/annotate/process/annotate_process.h"
#include "query/annotate/source_files.h"
#include "query/snapshot/snapshot.h"
#include "server/source_servers.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/search/file_search.h"

namespace plimsoll::server {

struct AnnotateSettings {
  symbolizer::TableWorker worker;  // `plimsoll symtab annotate`; without argv the server annotates nothing
  symbolizer::SymbolRoots roots;   // where binaries and debug files may lie
  std::vector<annotate::SourceRoot> sources = {};  // where source files may lie
  std::vector<SourceServer> source_servers = {};   // that are asked for others
  symbolizer::ProcessLimits limits = annotate::kAnnotateLimits;
  std::string folder = {};                // for what the process writes; it has no name there
  std::chrono::milliseconds max_time{0};  // for a request; 0: there is none
};

// GET /api/v1/annotate?function=NAME: for whom the views are. Two are made at a time: others wait for some seconds, then get 503. Borrows
// the cache. docs/annotate.md has the parameters.
std::vector<http::Route> annotate_routes(query::SnapshotCache& snapshots, AnnotateSettings settings);

}  // namespace plimsoll::server
