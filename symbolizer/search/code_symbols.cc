#include "symbolizer/search/code_symbols.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "elf/module_layout.h"

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

bool is_function(const elf::Symbol& symbol) {
  return symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
}

// Where code lies, in a relocatable file too.
class Places {
 public:
  explicit Places(const elf::ElfFile& file) : file_(file), layout_(file) {}

  // Nothing where a relocatable file's section has no address.
  std::optional<uint64_t> start_of(const elf::Section& section) const {
    return file_.type() == ET_REL
               ? layout_.address_of(static_cast<uint64_t>(&section - file_.sections().data()))
               : section.address;
  }
  // In relocatable files, symbols' addresses count from their sections' starts.
  std::optional<uint64_t> address_of(const elf::Symbol& symbol) const {
    if (file_.type() != ET_REL) {
      return symbol.address;
    }
    const auto start = start_of(*symbol.section);
    return start && symbol.address <= symbol.section->size_bytes ? std::optional(*start + symbol.address)
                                                                 : std::nullopt;
  }

 private:
  const elf::ElfFile& file_;
  elf::ModuleLayout layout_;
};

// Where functions whose sizes are known lie, for the question what lies within one.
class FunctionExtents {
 public:
  void add(const elf::Symbol& symbol, uint64_t address) {
    if (is_function(symbol) && symbol.size_bytes != 0) {
      extents_.push_back({address, address + std::min(symbol.size_bytes, UINT64_MAX - address)});
    }
  }

  // Behind the first byte of one. After the last add().
  bool contain(uint64_t address) {
    if (!is_sorted_) {
      sort();
    }
    const auto after = std::ranges::lower_bound(extents_, address, {}, &Extent::from);
    return after != extents_.begin() && std::prev(after)->to > address;
  }

 private:
  struct Extent {
    uint64_t from;
    uint64_t to;  // the farthest of those up to here
  };

  void sort() {
    std::ranges::sort(extents_, {}, &Extent::from);
    uint64_t farthest = 0;
    for (Extent& extent : extents_) {
      extent.to = farthest = std::max(farthest, extent.to);
    }
    is_sorted_ = true;
  }

  std::vector<Extent> extents_;
  bool is_sorted_ = false;
};

}  // namespace

std::vector<NamedCode> code_symbols(const elf::ElfFile& file, uint32_t section_type) {
  std::vector<NamedCode> symbols;
  std::vector<bool> is_label;  // of the same symbols: without a type
  FunctionExtents functions;
  std::string_view source_file;
  bool names_code = false;
  const Places places(file);
  file.for_each_symbol(section_type, [&](const elf::Symbol& symbol) {
    if (symbol.type == STT_FILE) {
      source_file = symbol.name;
      return;
    }
    const auto address = is_name(symbol) ? places.address_of(symbol) : std::nullopt;
    if (address) {
      names_code = names_code || is_code(*symbol.section);
      // Global symbols come last, and belong to no file.
      symbols.push_back({*address, symbol.size_bytes, symbol.name,
                         symbol.binding == STB_LOCAL ? source_file : std::string_view(), symbol.binding});
      is_label.push_back(symbol.type == STT_NOTYPE);
      functions.add(symbol, *address);
    }
  });
  // A label in a function is a place in it, such as the head of a loop in assembly, and not a function.
  size_t kept = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!is_label[i] || !functions.contain(symbols[i].address)) {
      symbols[kept++] = symbols[i];
    }
  }
  symbols.resize(kept);
  return names_code ? symbols : std::vector<NamedCode>();
}

std::vector<CodeSection> code_sections(const elf::ElfFile& file) {
  std::vector<CodeSection> found;
  const Places places(file);
  for (const elf::Section& section : file.sections()) {
    const auto start = is_code(section) ? places.start_of(section) : std::nullopt;
    if (start) {
      const uint64_t size_bytes = std::min(section.size_bytes, UINT64_MAX - *start);
      found.push_back({*start, *start + size_bytes, section.name});
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
