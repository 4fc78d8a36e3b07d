// From accepted profiles to named rows: builds what is pending, then looks up the names of new locations.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/ingest.h"
#include "symbolizer/worker/symbol_source.h"

namespace plimsoll::server {

struct PipelineReport {
  uint64_t profiles = 0;
  uint64_t rows = 0;
  uint64_t unbuildable = 0;
  uint64_t locations = 0;            // looked up
  uint64_t named = 0;                // of these
  std::vector<std::string> missing;  // "binary: why it has no symbols"
};

// One thread at a time. Works until nothing is pending.
Result<PipelineReport> run_pipeline(store::Ingest& ingest, const symbolizer::SymbolRoots& roots);

}  // namespace plimsoll::server
