// Symbolizing over all blocks of a store.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/ingest.h"
#include "symbolizer/worker/worker.h"

namespace plimsoll::server {

// One thread at a time.
class SymbolPasses {
 public:
  // `ingest` must outlive it.
  SymbolPasses(store::Ingest& ingest, symbolizer::Symbolizer symbolizer)
      : ingest_(ingest), symbolizer_(std::move(symbolizer)) {}

  // Looks up new addresses, which are in the newest blocks, and where `look_for_better` those of all blocks for which better symbols may
  // have appeared (Symbolizer::run()). The newest block comes first.
  Result<symbolizer::SymbolizeReport> run(bool look_for_better);

 private:
  store::Ingest& ingest_;
  symbolizer::Symbolizer symbolizer_;
  int64_t first_unfinished_ = 0;  // block before which all addresses have been looked up, and no more come
};

}  // namespace plimsoll::server
