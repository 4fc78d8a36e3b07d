// From accepted profiles to named rows: what `plimsoll import` does at once, and the server in the background (server/passes.h).
#pragma once

#include "base/result.h"
#include "server/symbol_passes.h"
#include "store/ingest.h"

namespace plimsoll::server {

struct PipelineReport {
  store::BuildReport rows;
  symbolizer::SymbolizeReport names;
};

// Builds what is pending, then looks up the names of new locations, and of old ones for which better symbols have appeared. One
// thread at a time.
Result<PipelineReport> run_pipeline(store::Ingest& ingest, SymbolPasses& passes);

}  // namespace plimsoll::server
