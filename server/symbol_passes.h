// Symbolizing over all blocks of a store.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "base/result.h"
#include "store/door/symbols.h"
#include "symbolizer/worker/worker.h"

namespace plimsoll::server {

// One thread at a time.
class SymbolPasses {
 public:
  SymbolPasses(std::unique_ptr<store::Symbols> symbols, symbolizer::Symbolizer symbolizer)
      : symbols_(std::move(symbols)), symbolizer_(std::move(symbolizer)) {}

  // Looks up new addresses, which are in the newest blocks, and those that blocks had left when they were rolled up or merged; and where
  // `look_for_better` also those for which better symbols may have appeared (Symbolizer::run()), in the newest block and in a few of the others,
  // which take turns. The newest block comes first.
  Result<symbolizer::SymbolizeReport> run(bool look_for_better);

  // After how many searches for better symbols each block has had its turn.
  size_t searches_of_all() const;

 private:
  Status run(store::BlockSymbols& block, bool is_newest, bool look_for_better,
             symbolizer::SymbolizeReport& all);

  std::unique_ptr<store::Symbols> symbols_;
  symbolizer::Symbolizer symbolizer_;
  int64_t first_unfinished_ = 0;  // block before which all addresses have been looked up, and no more come
  std::set<std::pair<int64_t, int64_t>>
      damaged_;            // blocks, by number and generation, that are left as they are
  int64_t next_turn_ = 0;  // block at which the next search for better symbols begins
  size_t old_blocks_ = 0;  // at the last pass
  // Blocks that have been looked up since they were rolled up or merged; by number and generation.
  std::set<std::pair<int64_t, int64_t>> rewritten_;
};

}  // namespace plimsoll::server
