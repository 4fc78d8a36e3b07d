#include "query/fdo/code/function_extents.h"

#include <elf.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace plimsoll::fdo {
namespace {

struct Candidate {
  FunctionExtent extent;
  uint64_t section_end = 0;
  uint8_t rank = 0;  // global before weak before local
};

bool is_executable(const elf::Section& section) {
  return (section.flags & SHF_ALLOC) != 0 && (section.flags & SHF_EXECINSTR) != 0 &&
         section.type != SHT_NOBITS;
}

uint64_t end_of(const elf::Section& section) {
  return section.address + std::min(section.size_bytes, UINT64_MAX - section.address);
}

std::vector<Candidate> candidates_of(const elf::ElfFile& binary, uint32_t section_type) {
  std::vector<Candidate> found;
  binary.for_each_symbol(section_type, [&](const elf::Symbol& symbol) {
    const bool is_function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC ||
                             (symbol.type == STT_NOTYPE && symbol.size_bytes != 0);
    if (!is_function || symbol.name.empty() || symbol.section == nullptr || !is_executable(*symbol.section)) {
      return;
    }
    const uint64_t end = end_of(*symbol.section);
    if (symbol.address < symbol.section->address || symbol.address >= end) {
      return;
    }
    const uint64_t to = symbol.address + std::min(symbol.size_bytes, end - symbol.address);
    const uint8_t rank = symbol.binding == STB_LOCAL ? 2 : symbol.binding == STB_WEAK ? 1 : 0;
    found.push_back(
        {{std::string(symbol.name), symbol.address, to, symbol.binding == STB_LOCAL, 0}, end, rank});
  });
  return found;
}

}  // namespace

std::vector<FunctionExtent> function_extents(const elf::ElfFile& binary) {
  std::vector<Candidate> candidates = candidates_of(binary, SHT_SYMTAB);
  if (candidates.empty()) {
    candidates = candidates_of(binary, SHT_DYNSYM);
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.extent.from, a.rank, a.extent.name) < std::tie(b.extent.from, b.rank, b.extent.name);
  });
  std::unordered_map<std::string, uint32_t> numbers;
  for (Candidate& candidate : candidates) {
    candidate.extent.number = candidate.extent.is_local ? ++numbers[candidate.extent.name] : 0;
  }
  std::vector<FunctionExtent> extents;
  for (size_t i = 0; i < candidates.size();) {
    FunctionExtent extent = std::move(candidates[i].extent);
    const uint64_t section_end = candidates[i].section_end;
    for (++i; i < candidates.size() && candidates[i].extent.from == extent.from; ++i) {
      extent.to = std::max(extent.to, candidates[i].extent.to);
    }
    const uint64_t next = i < candidates.size() ? candidates[i].extent.from : UINT64_MAX;
    if (extent.to == extent.from) {
      extent.to = section_end;
    }
    extent.to = std::min(extent.to, next);
    extents.push_back(std::move(extent));
  }
  return extents;
}

std::vector<FunctionExtent> function_extents(const elf::ElfFile& binary, const symbolizer::Symtab& symbols) {
  std::vector<FunctionExtent> extents;
  std::vector<symbolizer::SymtabFrame> frames;
  symbols.for_each_row([&](uint64_t from) {
    if (!extents.empty() && extents.back().to > from) {
      extents.back().to = from;
    }
    frames.clear();
    symbols.look_up(from, frames);
    const bool is_named = !frames.empty() && !frames.back().function.empty();
    if (!is_named) {
      return;
    }
    if (!extents.empty() && extents.back().to == from && extents.back().name == frames.back().function) {
      extents.back().to = UINT64_MAX;
      return;
    }
    extents.push_back({std::string(frames.back().function), from, UINT64_MAX, false, 0});
  });
  std::vector<CodeRange> sections;
  for (const elf::Section& section : binary.sections()) {
    if (is_executable(section)) {
      sections.push_back({section.address, end_of(section)});
    }
  }
  std::ranges::sort(sections, {}, &CodeRange::from);
  std::vector<FunctionExtent> within;
  for (FunctionExtent& extent : extents) {
    const auto after = std::ranges::upper_bound(sections, extent.from, {}, &CodeRange::from);
    if (after != sections.begin() && std::prev(after)->to > extent.from) {
      extent.to = std::min(extent.to, std::prev(after)->to);
      within.push_back(std::move(extent));
    }
  }
  return within;
}

const FunctionExtent* extent_at(const std::vector<FunctionExtent>& extents, uint64_t address) {
  const auto after = std::ranges::upper_bound(extents, address, {}, &FunctionExtent::from);
  return after != extents.begin() && std::prev(after)->to > address ? &*std::prev(after) : nullptr;
}

std::string_view hot_name_of(std::string_view name) {
  const size_t dot = name.rfind(".cold");
  if (dot == std::string_view::npos || dot == 0) {
    return {};
  }
  const std::string_view rest = name.substr(dot + std::string_view(".cold").size());
  const bool is_number =
      rest.size() > 1 && rest[0] == '.' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return rest.empty() || is_number ? name.substr(0, dot) : std::string_view();
}

}  // namespace plimsoll::fdo
