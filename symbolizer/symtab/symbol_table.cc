#include "symbolizer/symtab/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <tuple>

namespace plimsoll::symbolizer {
namespace {

struct Candidate {
  FunctionSymbol symbol;
  int binding_rank;  // lower is better

  auto rank() const {
    return std::tuple(symbol.address, binding_rank, symbol.size_bytes == 0, std::string_view(symbol.name));
  }
};

int rank_of_binding(uint8_t binding) {
  switch (binding) {
    case STB_GLOBAL:
      return 0;
    case STB_WEAK:
      return 1;
    default:
      return 2;
  }
}

bool is_code(const elf::Symbol& symbol) {
  return (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && !symbol.name.empty();
}

}  // namespace

SymbolTable SymbolTable::from_elf(const elf::ElfFile& file, uint32_t section_type) {
  std::vector<Candidate> candidates;
  file.for_each_symbol(section_type, [&](const elf::Symbol& symbol) {
    if (is_code(symbol)) {
      candidates.push_back(
          {{symbol.address, symbol.size_bytes, std::string(symbol.name)}, rank_of_binding(symbol.binding)});
    }
  });
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) { return a.rank() < b.rank(); });
  SymbolTable table;
  for (Candidate& candidate : candidates) {
    if (table.symbols_.empty() || table.symbols_.back().address != candidate.symbol.address) {
      table.symbols_.push_back(std::move(candidate.symbol));
    }
  }
  return table;
}

SymbolTable SymbolTable::from_offsets(std::vector<FunctionSymbol> symbols, uint64_t end) {
  SymbolTable table;
  table.symbols_ = std::move(symbols);
  std::ranges::sort(table.symbols_, {}, &FunctionSymbol::address);
  table.end_ = end;
  return table;
}

const FunctionSymbol* SymbolTable::find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &FunctionSymbol::address);
  if (after == symbols_.begin() || address >= end_) {
    return nullptr;
  }
  const FunctionSymbol& symbol = *std::prev(after);
  const bool inside = symbol.size_bytes == 0 || address - symbol.address < symbol.size_bytes;
  return inside ? &symbol : nullptr;
}

}  // namespace plimsoll::symbolizer
