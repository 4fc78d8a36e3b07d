#include "symbolizer/search/function_symbols.h"

#include <elf.h>

#include <algorithm>
#include <optional>

namespace plimsoll::symbolizer {
namespace {

struct CodeSection {
  uint64_t from;
  uint64_t to;
};

std::vector<CodeSection> code_sections(const elf::ElfFile& file) {
  std::vector<CodeSection> sections;
  for (const elf::Section& section : file.sections()) {
    if ((section.flags & SHF_EXECINSTR) != 0) {
      sections.push_back(
          {section.address, section.address + std::min(section.size_bytes, UINT64_MAX - section.address)});
    }
  }
  std::ranges::sort(sections, {}, &CodeSection::from);
  return sections;
}

const CodeSection* section_of(const std::vector<CodeSection>& sections, uint64_t address) {
  const auto after = std::ranges::upper_bound(sections, address, {}, &CodeSection::from);
  const bool is_inside = after != sections.begin() && address < std::prev(after)->to;
  return is_inside ? &*std::prev(after) : nullptr;
}

bool is_function(const elf::Symbol& symbol, const std::vector<CodeSection>& sections) {
  const bool is_typed = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
  // Labels of assembly, and tables that it keeps among its code.
  const bool is_label = (symbol.type == STT_NOTYPE || symbol.type == STT_OBJECT) &&
                        section_of(sections, symbol.address) != nullptr;
  return !symbol.name.empty() && (is_typed || is_label);
}

void add_missing_sizes(std::vector<NamedCode>& symbols, const std::vector<CodeSection>& sections) {
  std::vector<uint64_t> starts;
  std::vector<uint64_t> sized;
  for (const NamedCode& symbol : symbols) {
    starts.push_back(symbol.address);
    if (symbol.size_bytes != 0) {
      sized.push_back(symbol.address);
    }
  }
  std::ranges::sort(starts);
  std::ranges::sort(sized);
  for (NamedCode& symbol : symbols) {
    const CodeSection* const section = section_of(sections, symbol.address);
    // Another name of a function with a size leaves the address to that one.
    if (symbol.size_bytes != 0 || section == nullptr || std::ranges::binary_search(sized, symbol.address)) {
      continue;
    }
    const auto next = std::ranges::upper_bound(starts, symbol.address);
    symbol.size_bytes = std::min(section->to, next == starts.end() ? UINT64_MAX : *next) - symbol.address;
  }
}

}  // namespace

std::vector<NamedCode> function_symbols(const elf::ElfFile& file, uint32_t section_type) {
  const std::vector<CodeSection> sections = code_sections(file);
  std::vector<NamedCode> symbols;
  std::string_view source_file;
  file.for_each_symbol(section_type, [&](const elf::Symbol& symbol) {
    if (symbol.type == STT_FILE) {
      source_file = symbol.name;
    } else if (is_function(symbol, sections)) {
      // Global symbols come last, and belong to no file.
      symbols.push_back({symbol.address, symbol.size_bytes, symbol.name,
                         symbol.binding == STB_LOCAL ? source_file : std::string_view(), symbol.binding});
    }
  });
  add_missing_sizes(symbols, sections);
  return symbols;
}

}  // namespace plimsoll::symbolizer
