// From accepted profiles to named rows: builds what is pending, then looks up the names of new locations, and of old
// ones for which better symbols have appeared.
#pragma once

#include "base/result.h"
#include "store/ingest.h"
#include "symbolizer/worker/worker.h"

namespace plimsoll::server {

struct PipelineReport {
  uint64_t profiles = 0;
  uint64_t rows = 0;
  uint64_t unbuildable = 0;
  symbolizer::SymbolizeReport names;

  // Whether there is anything to tell.
  bool has_news() const { return profiles + unbuildable + names.locations + names.renamed != 0; }
};

// One thread at a time. Works until nothing is pending; old locations are looked up again only if `look_for_better`.
Result<PipelineReport> run_pipeline(store::Ingest& ingest, symbolizer::Symbolizer& symbolizer,
                                    bool look_for_better);

}  // namespace plimsoll::server
