#include "server/symbol_passes.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/log.h"
#include "store/blocks/block_damage.h"

namespace plimsoll::server {

namespace {

// A search reads all binaries of a block, tens of thousands: those of years take a while all together, and new addresses wait.
constexpr size_t kOldBlocksOfSearch = 4;

}  // namespace

Status SymbolPasses::run(const store::BlockFolder& block, bool is_newest, bool look_for_better,
                         symbolizer::SymbolizeReport& all) {
  const auto with_catalogue = [&](const symbolizer::CatalogueWork& work) {
    return ingest_.write_catalogue(block, work);
  };
  if (damaged_.contains(block.number)) {
    return {};
  }
  auto report = symbolizer_.run({.block = block.number, .with_catalogue = with_catalogue}, look_for_better);
  if (!report && ingest_.is_dropped(block)) {
    return {};
  }
  // The newest takes rows: where that is damaged there is more at stake than names.
  if (!report && !is_newest && (report.error().code == ErrorCode::kCorrupt || store::is_unreadable(block))) {
    log_error("block {} gets no more names: {}", block.number, report.error().text());
    damaged_.insert(block.number);
    return {};
  }
  if (!report) {
    return propagate(report, "symbolizing addresses");
  }
  all += std::move(*report);
  return {};
}

Result<symbolizer::SymbolizeReport> SymbolPasses::run(bool look_for_better) {
  const auto blocks = ingest_.blocks();
  if (!blocks) {
    return propagate(blocks);
  }
  symbolizer::SymbolizeReport all;
  for (const store::BlockFolder& block : std::views::reverse(*blocks)) {
    const bool is_newest = block.number == blocks->back().number;
    if (block.number < first_unfinished_) {
      break;
    }
    if (const Status done = run(block, is_newest, look_for_better && is_newest, all); !done) {
      return propagate(done);
    }
  }
  // A block takes no more once there is one after it.
  first_unfinished_ = blocks->back().number;
  const size_t old_blocks = blocks->size() - 1;
  for (size_t i = 0; look_for_better && i < std::min(kOldBlocksOfSearch, old_blocks); ++i) {
    const size_t place = static_cast<size_t>(next_turn_++) % old_blocks;
    if (const Status done = run((*blocks)[old_blocks - 1 - place], /*is_newest=*/false, true, all); !done) {
      return propagate(done);
    }
  }
  return all;
}

}  // namespace plimsoll::server
