// Which ELF symbol names the code at an address.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plimsoll::symbolizer {

// A function symbol of an ELF file, in the order of its table.
struct NamedCode {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string_view name;
  std::string_view file;  // that a local symbol is of (STT_FILE); empty: unknown
  uint8_t binding = STB_GLOBAL;
};

inline constexpr uint32_t kNoSymbol = UINT32_MAX;

// Goes forward through the addresses. Of several symbols at one address the largest names it, of equally large ones the last in
// the table, as with llvm-symbolizer. One without a size reaches to the next.
class SymbolCursor {
 public:
  // Borrows nothing once made.
  explicit SymbolCursor(std::span<const NamedCode> symbols);

  // The index of the symbol that names the address, which is not before that of the last call.
  uint32_t at(uint64_t address) {
    while (next_ < starts_.size() && starts_[next_].from <= address) {
      ++next_;
    }
    return next_ == 0 ? kNoSymbol : starts_[next_ - 1].symbol;
  }
  // The alias of that symbol that people know it by: global before weak before local, then the one with the fewest underscores
  // in front, then the first by name. `symbol` is one that at() gave.
  uint32_t known_as(uint32_t symbol) const {
    const auto found = known_as_.find(symbol);
    return found == known_as_.end() ? symbol : found->second;
  }
  // Up to where that holds.
  uint64_t next_change() const { return next_ < starts_.size() ? starts_[next_].from : UINT64_MAX; }
  // Where the last symbol ends, or begins if its size is unknown.
  uint64_t end() const { return starts_.empty() ? 0 : starts_.back().from; }

 private:
  struct Start {
    uint64_t from;
    uint32_t symbol;  // kNoSymbol: none from there on
  };
  std::vector<Start> starts_;                        // by address
  std::unordered_map<uint32_t, uint32_t> known_as_;  // where it is another
  size_t next_ = 0;
};

}  // namespace plimsoll::symbolizer
