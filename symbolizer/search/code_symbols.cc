#include "symbolizer/search/code_symbols.h"

#include <elf.h>

#include <algorithm>
#include <utility>

namespace plimsoll::symbolizer {
namespace {

bool is_loaded(const elf::Section& section) {
  return (section.flags & SHF_ALLOC) != 0;
}

bool is_code(const elf::Section& section) {
  return is_loaded(section) && (section.flags & SHF_EXECINSTR) != 0;
}

// Of data, too: hand-written assembly has tables among its code.
bool is_name(const elf::Symbol& symbol) {
  const bool is_kind = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC || symbol.type == STT_NOTYPE ||
                       symbol.type == STT_OBJECT;
  return is_kind && !symbol.name.empty() && symbol.section != nullptr && is_loaded(*symbol.section);
}

}  // namespace

std::vector<NamedCode> code_symbols(const elf::ElfFile& file, uint32_t section_type) {
  std::vector<NamedCode> symbols;
  std::string_view source_file;
  bool names_code = false;
  file.for_each_symbol(section_type, [&](const elf::Symbol& symbol) {
    if (symbol.type == STT_FILE) {
      source_file = symbol.name;
    } else if (is_name(symbol)) {
      names_code = names_code || is_code(*symbol.section);
      // Global symbols come last, and belong to no file.
      symbols.push_back({symbol.address, symbol.size_bytes, symbol.name,
                         symbol.binding == STB_LOCAL ? source_file : std::string_view(), symbol.binding});
    }
  });
  return names_code ? symbols : std::vector<NamedCode>();
}

std::vector<CodeSection> code_sections(const elf::ElfFile& file) {
  std::vector<CodeSection> found;
  for (const elf::Section& section : file.sections()) {
    if (is_code(section)) {
      const uint64_t size_bytes = std::min(section.size_bytes, UINT64_MAX - section.address);
      found.push_back({section.address, section.address + size_bytes, section.name});
    }
  }
  std::ranges::sort(found, {},
                    [](const CodeSection& section) { return std::pair(section.from, section.to); });
  std::vector<CodeSection> apart;
  for (CodeSection& section : found) {
    section.from = std::max(section.from, apart.empty() ? 0 : apart.back().to);
    if (section.from < section.to) {
      apart.push_back(section);
    }
  }
  return apart;
}

}  // namespace plimsoll::symbolizer
