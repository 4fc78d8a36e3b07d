// Which ELF symbol names the code at an address.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace plimsoll::symbolizer {

// A symbol of an ELF file, in the order of its table.
struct NamedCode {
  uint64_t address = 0;
  uint64_t size_bytes = 0;  // 0: unknown
  std::string_view name = {};
  std::string_view file = {};  // that a local symbol is of (STT_FILE); empty: unknown
  uint8_t binding = STB_GLOBAL;
};

// A section with code, from its first address up to another.
struct CodeSection {
  uint64_t from = 0;
  uint64_t to = 0;
  std::string_view name;
};

// What the code at some addresses is called.
struct CodeName {
  std::string_view name;      // as linked
  std::string_view known_as;  // SymtabFrame::known_as; empty: by its name
  std::string_view file;      // as NamedCode's
  bool is_sized = true;       // else the symbol may be that of code further up
};

inline constexpr uint32_t kNoName = UINT32_MAX;

// Goes forward through the addresses of the sections; outside of them nothing has a name. It names code as llvm-symbolizer does: of
// several symbols at one address the largest names it, of equally large ones the last in the table; one without a size
// reaches to the next, of whatever section; where one ends, nothing names what follows.
//
// People know code by the alias that is global before weak before local, then has no old version ("name@V1"), then has the fewest
// underscores in front, then is the first by name; but code that a symbol of another section reaches, since it has no size, by the name of its section: .plt, where
// the symbol is _init.
class SymbolCursor {
 public:
  // The sections by address, without overlaps. Borrows the text.
  SymbolCursor(std::span<const NamedCode> symbols, std::span<const CodeSection> sections);

  // The number of the name at the address, which is not before that of the last call.
  uint32_t at(uint64_t address) {
    while (next_ < starts_.size() && starts_[next_].from <= address) {
      ++next_;
    }
    return next_ == 0 ? kNoName : starts_[next_ - 1].name;
  }
  // Of a number that at() gave.
  const CodeName& name(uint32_t number) const { return names_[number]; }
  // Up to where that holds.
  uint64_t next_change() const { return next_ < starts_.size() ? starts_[next_].from : UINT64_MAX; }
  // Behind the last address that has a name.
  uint64_t end() const { return starts_.empty() ? 0 : starts_.back().from; }

 private:
  struct Start {
    uint64_t from;
    uint32_t name;  // kNoName: none from there on
  };
  // Addresses that a symbol names, whether there is code or not: its name has the same number.
  struct Reach {
    uint64_t from;
    uint64_t to;
  };
  std::vector<Reach> add_names(std::span<const NamedCode> symbols);
  void add_section(const CodeSection& section, std::span<const Reach> reaches);
  uint32_t name_in(const CodeSection& section, uint32_t name, const Reach& reach);

  std::vector<CodeName> names_;
  std::vector<Start> starts_;  // by address
  size_t next_ = 0;
};

}  // namespace plimsoll::symbolizer
