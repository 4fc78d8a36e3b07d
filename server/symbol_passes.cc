#include "server/symbol_passes.h"

#include <ranges>
#include <utility>

namespace plimsoll::server {

Result<symbolizer::SymbolizeReport> SymbolPasses::run(bool look_for_better) {
  const auto blocks = ingest_.blocks();
  if (!blocks) {
    return propagate(blocks);
  }
  symbolizer::SymbolizeReport all;
  for (const store::BlockFolder& block : std::views::reverse(*blocks)) {
    if (block.number < first_unfinished_ && !look_for_better) {
      break;
    }
    auto report = symbolizer_.run(
        {.block = block.number,
         .with_catalogue =
             [&](const symbolizer::CatalogueWork& work) { return ingest_.write_catalogue(block, work); }},
        look_for_better);
    if (!report) {
      return propagate(report, "symbolizing addresses");
    }
    all += std::move(*report);
  }
  // A block takes no more once there is one after it.
  first_unfinished_ = blocks->back().number;
  return all;
}

}  // namespace plimsoll::server
