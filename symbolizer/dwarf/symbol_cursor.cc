#include "symbolizer/dwarf/symbol_cursor.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plimsoll::symbolizer {
namespace {

int rank_of(uint8_t binding) {
  return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

// The smaller, the better is it known.
auto familiarity(const NamedCode& symbol) {
  const size_t underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
  return std::tuple(rank_of(symbol.binding), underscores, symbol.name);
}

}  // namespace

SymbolCursor::SymbolCursor(std::span<const NamedCode> symbols) {
  std::vector<uint32_t> order(symbols.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](uint32_t i) { return std::tuple(symbols[i].address, symbols[i].size_bytes, i); });
  uint32_t best_known = kNoSymbol;  // of those at one address so far
  for (size_t i = 0; i < order.size(); ++i) {
    const NamedCode& symbol = symbols[order[i]];
    if (best_known == kNoSymbol || familiarity(symbol) < familiarity(symbols[best_known])) {
      best_known = order[i];
    }
    const uint64_t next = i + 1 < order.size() ? symbols[order[i + 1]].address : UINT64_MAX;
    if (next == symbol.address) {
      continue;  // the one that comes last of those at the address is its name
    }
    if (symbols[best_known].name != symbol.name) {
      known_as_.emplace(order[i], best_known);
    }
    best_known = kNoSymbol;
    starts_.push_back({symbol.address, order[i]});
    const uint64_t end = symbol.address + std::min(symbol.size_bytes, UINT64_MAX - symbol.address);
    if (symbol.size_bytes != 0 && end < next) {
      starts_.push_back({end, kNoSymbol});
    }
  }
}

}  // namespace plimsoll::symbolizer
