// Writes merged code with the names of its symbols: what ends up in the symbol table.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolizer/dwarf/merged_code.h"
#include "symbolizer/dwarf/symbol_cursor.h"
#include "symbolizer/symtab/symtab_writer.h"

namespace plimsoll::symbolizer {

// Used once. Where stretches overlap, the one that begins first holds to its end.
class RowWriter {
 public:
  RowWriter(const MergedCode& code, SymbolCursor symbols, SymtabWriter& writer);

  void write();

 private:
  void write_stretch(uint64_t from, uint64_t to, const MergedRow& row);
  void write_row(uint64_t from, const MergedRow& row, uint32_t name);
  uint32_t function(uint32_t function);
  uint32_t function(uint32_t function, const CodeName& name);
  uint32_t root(uint32_t scope, uint32_t name);
  uint32_t scope(uint32_t scope, uint32_t name);
  uint32_t scope_of_name(uint32_t name);

  struct Written {
    uint32_t parent = kNoNumber;
    uint32_t scope = kNoNumber;
  };

  const MergedCode& code_;
  SymbolCursor symbols_;
  SymtabWriter& writer_;
  uint32_t unknown_unit_;
  // The writer's numbers.
  std::vector<uint32_t> functions_;
  std::vector<Written> scopes_;  // by scope, the newest of each
  // By scope, and the symbols' name that it is called by (kNoName: its own).
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> roots_;
  std::unordered_map<uint32_t, uint32_t> name_scopes_;
};

}  // namespace plimsoll::symbolizer
