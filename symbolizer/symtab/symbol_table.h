// Address -> function, from ELF symbol tables and kernel symbol lists.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

struct FunctionSymbol {
  uint64_t address;
  uint64_t size_bytes;  // 0: unknown; it reaches to the next symbol, within its section
  std::string name;     // as linked
};

// A symbol table of a file: its section of type SHT_SYMTAB or SHT_DYNSYM.
struct SymbolSection {
  const elf::ElfFile* file;
  uint32_t type;
};

// Immutable. Look-up is a binary search.
class SymbolTable {
 public:
  SymbolTable() = default;

  // Of several symbols at one address the one that find() names is chosen by rule, not by their order: global before
  // weak before local, then known size before unknown, then the first by name.
  static SymbolTable from_elf(const elf::ElfFile& file, uint32_t section_type);
  // Of several tables of one binary together; its sections are those of the first file.
  static SymbolTable from_sections(std::span<const SymbolSection> sections);
  // From offsets and names, sizes unknown; `end` is where the last one ends.
  static SymbolTable from_offsets(std::vector<FunctionSymbol> symbols, uint64_t end);

  // The function whose bytes contain the address; of several, one within another, that which starts last. Nothing
  // between functions whose sizes are known.
  const FunctionSymbol* find(uint64_t address) const;

  bool empty() const { return symbols_.empty(); }
  size_t size() const { return symbols_.size(); }
  uint64_t memory_bytes() const;

 private:
  // Addresses that one function is the answer for. A function that others lie within has several parts.
  struct Part {
    uint64_t from;
    uint64_t to;  // or to the next part, where that comes before
    size_t symbol;
  };
  // `reach`: the address up to which a function without a size may go on that starts at an address.
  void make_parts(const std::function<uint64_t(uint64_t address)>& reach);

  std::vector<FunctionSymbol> symbols_;  // by address, one for each
  std::vector<Part> parts_;              // by address
};

}  // namespace plimsoll::symbolizer
