#include "symbolizer/symtab/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <tuple>
#include <utility>

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

uint64_t end_of(const FunctionSymbol& symbol) {
  return symbol.address + std::min(symbol.size_bytes, UINT64_MAX - symbol.address);
}

// What is loaded where: the sections' first addresses and ends, by address.
using LoadedSections = std::vector<std::pair<uint64_t, uint64_t>>;

LoadedSections loaded_sections(const elf::ElfFile& file) {
  LoadedSections loaded;
  for (const elf::Section& section : file.sections()) {
    if (section.address != 0) {
      loaded.emplace_back(section.address,
                          section.address + std::min(section.size_bytes, UINT64_MAX - section.address));
    }
  }
  std::ranges::sort(loaded);
  return loaded;
}

// The end of the section that holds `address`; unlimited where none does.
uint64_t section_end(const LoadedSections& loaded, uint64_t address) {
  const auto after = std::ranges::upper_bound(loaded, address, {}, &LoadedSections::value_type::first);
  const bool inside = after != loaded.begin() && address < std::prev(after)->second;
  return inside ? std::prev(after)->second : UINT64_MAX;
}

bool is_code(const elf::Symbol& symbol) {
  return (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && !symbol.name.empty();
}

}  // namespace

SymbolTable SymbolTable::from_elf(const elf::ElfFile& file, uint32_t section_type) {
  const SymbolSection section{&file, section_type};
  return from_sections({&section, 1});
}

SymbolTable SymbolTable::from_sections(std::span<const SymbolSection> sections) {
  std::vector<Candidate> candidates;
  for (const SymbolSection& section : sections) {
    section.file->for_each_symbol(section.type, [&](const elf::Symbol& symbol) {
      if (is_code(symbol)) {
        candidates.push_back(
            {{symbol.address, symbol.size_bytes, std::string(symbol.name)}, rank_of_binding(symbol.binding)});
      }
    });
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) { return a.rank() < b.rank(); });
  SymbolTable table;
  for (Candidate& candidate : candidates) {
    if (table.symbols_.empty() || table.symbols_.back().address != candidate.symbol.address) {
      table.symbols_.push_back(std::move(candidate.symbol));
    }
  }
  // So that _init does not name the .plt behind it, nor _fini all that follows.
  const LoadedSections loaded = sections.empty() ? LoadedSections() : loaded_sections(*sections.front().file);
  table.make_parts([&](uint64_t address) { return section_end(loaded, address); });
  return table;
}

SymbolTable SymbolTable::from_offsets(std::vector<FunctionSymbol> symbols, uint64_t end) {
  SymbolTable table;
  table.symbols_ = std::move(symbols);
  std::ranges::sort(table.symbols_, {}, &FunctionSymbol::address);
  table.make_parts([end](uint64_t) { return end; });
  return table;
}

void SymbolTable::make_parts(const std::function<uint64_t(uint64_t address)>& reach) {
  std::vector<size_t> open;  // functions that may go on behind those that start later; the innermost last
  const auto end_of_innermost = [&] { return end_of(symbols_[open.back()]); };
  // What goes on behind the functions that end at or before `address`.
  const auto close_until = [&](uint64_t address) {
    while (!open.empty() && end_of_innermost() <= address) {
      const uint64_t end = end_of_innermost();
      while (!open.empty() && end_of_innermost() <= end) {
        open.pop_back();
      }
      if (!open.empty() && end < address) {
        parts_.push_back({end, end_of_innermost(), open.back()});
      }
    }
  };
  parts_.reserve(symbols_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const bool is_sized = symbols_[i].size_bytes != 0;
    close_until(symbols_[i].address);
    parts_.push_back({symbols_[i].address, is_sized ? end_of(symbols_[i]) : reach(symbols_[i].address), i});
    if (is_sized) {
      open.push_back(i);
    }
  }
  close_until(UINT64_MAX);
}

uint64_t SymbolTable::memory_bytes() const {
  uint64_t bytes = symbols_.capacity() * sizeof(FunctionSymbol) + parts_.capacity() * sizeof(Part);
  for (const FunctionSymbol& symbol : symbols_) {
    bytes += symbol.name.capacity();
  }
  return bytes;
}

const FunctionSymbol* SymbolTable::find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(parts_, address, {}, &Part::from);
  if (after == parts_.begin()) {
    return nullptr;
  }
  const Part& part = *std::prev(after);
  return address < part.to ? &symbols_[part.symbol] : nullptr;
}

}  // namespace plimsoll::symbolizer
