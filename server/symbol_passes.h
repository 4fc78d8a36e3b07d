// Symbolizing over all blocks of a store.
#pragma once

#include <cstdint>
#include <set>

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

  // Looks up new addresses, which are in the newest blocks; and where `look_for_better` also those for which better symbols may have
  // appeared (Symbolizer::run()), in the newest block and in a few of the others, which take turns. The newest block comes first.
  Result<symbolizer::SymbolizeReport> run(bool look_for_better);

 private:
  Status run(const store::BlockFolder& block, bool is_newest, bool look_for_better,
             symbolizer::SymbolizeReport& all);

  store::Ingest& ingest_;
  symbolizer::Symbolizer symbolizer_;
  int64_t first_unfinished_ = 0;  // block before which all addresses have been looked up, and no more come
  std::set<int64_t> damaged_;     // blocks that are left as they are
  int64_t next_turn_ = 0;         // block at which the next search for better symbols begins
};

}  // namespace plimsoll::server
