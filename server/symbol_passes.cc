#include "server/symbol_passes.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/log.h"

namespace plimsoll::server {

namespace {

// A search reads all binaries of a block, tens of thousands: those of years take a while all together, and new addresses wait.
constexpr size_t kOldBlocksOfSearch = 4;

}  // namespace

Status SymbolPasses::run(store::BlockSymbols& block, bool is_newest, bool look_for_better,
                         symbolizer::SymbolizeReport& all) {
  const std::pair key(block.number(), block.generation());
  if (damaged_.contains(key)) {
    return {};
  }
  auto report = symbolizer_.run(block, look_for_better);
  if (!report && block.is_gone()) {
    return {};
  }
  // The newest takes rows: where that is damaged there is more at stake than names.
  if (!report && !is_newest && (report.error().code == ErrorCode::kCorrupt || block.is_unreadable())) {
    log_error("block {} gets no more names: {}", block.number(), report.error().text());
    damaged_.insert(key);
    return {};
  }
  if (!report) {
    return propagate(report, "symbolizing addresses");
  }
  all += std::move(*report);
  return {};
}

Result<symbolizer::SymbolizeReport> SymbolPasses::run(bool look_for_better) {
  const auto blocks = symbols_->blocks();
  if (!blocks) {
    return propagate(blocks);
  }
  symbolizer::SymbolizeReport all;
  if (blocks->empty()) {
    return all;
  }
  for (const auto& block : std::views::reverse(*blocks)) {
    const bool is_newest = block == blocks->back();
    const std::pair key(block->number(), block->generation());
    const bool was_rewritten = block->generation() != 0 && !rewritten_.contains(key);
    if (block->number() < first_unfinished_ && !was_rewritten &&
        !symbolizer_.has_left(block->number(), block->generation())) {
      continue;
    }
    if (const Status done = run(*block, is_newest, look_for_better && is_newest, all); !done) {
      return propagate(done);
    }
    if (was_rewritten) {
      rewritten_.insert(key);
    }
  }
  // A block takes no more once there is one after it.
  first_unfinished_ = blocks->back()->number();
  const size_t old_blocks = blocks->size() - 1;
  old_blocks_ = old_blocks;
  for (size_t i = 0; look_for_better && i < std::min(kOldBlocksOfSearch, old_blocks); ++i) {
    const size_t place = static_cast<size_t>(next_turn_++) % old_blocks;
    if (const Status done = run(*(*blocks)[old_blocks - 1 - place], /*is_newest=*/false, true, all); !done) {
      return propagate(done);
    }
  }
  return all;
}

size_t SymbolPasses::searches_of_all() const {
  return std::max<size_t>(1, (old_blocks_ + kOldBlocksOfSearch - 1) / kOldBlocksOfSearch);
}

}  // namespace plimsoll::server
