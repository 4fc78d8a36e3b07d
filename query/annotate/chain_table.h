// Interns where instructions come from: for this folder's sources.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/annotate/annotation.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::annotate {

// Adds to names, files and chains of an annotation, each once. Borrows both.
class ChainTable {
 public:
  // `symbols`: null where there are none.
  ChainTable(const symbolizer::Symtab* symbols, Annotation& annotation)
      : symbols_(symbols), annotation_(annotation) {}

  // Of the code at an ELF address, which belongs to a function that people know as `function`: the outermost place has that name.
  uint32_t chain_at(uint64_t address, const std::string& function);

 private:
  uint32_t name_of(const symbolizer::SymtabFrame& frame);
  uint32_t name(const std::string& text);
  uint32_t file(std::string_view path);

  const symbolizer::Symtab* symbols_;
  Annotation& annotation_;
  std::map<Chain, uint32_t> chains_;
  std::unordered_map<std::string, uint32_t> names_;
  std::unordered_map<std::string_view, uint32_t> linked_names_;  // text of the symbol table
  std::unordered_map<std::string_view, uint32_t> files_;         // text of the symbol table
  std::vector<symbolizer::SymtabFrame> frames_;                  // of the newest address
};

}  // namespace plimsoll::annotate
