#include "symbolizer/dwarf/symbol_cursor.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plimsoll::symbolizer {
namespace {

int rank_of(uint8_t binding) {
  return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

// "name@VERSION": what programs of old are linked with. ("name@@VERSION" is what programs are linked with today.)
bool has_old_version(std::string_view name) {
  const size_t at = name.find('@');
  return at != 0 && at != std::string_view::npos && !name.substr(at).starts_with("@@");
}

// The smaller, the better is it known.
auto familiarity(const NamedCode& symbol) {
  const size_t underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
  return std::tuple(rank_of(symbol.binding), has_old_version(symbol.name), underscores, symbol.name);
}

// By address; of those at one address the one that names it comes last.
std::vector<uint32_t> in_order(std::span<const NamedCode> symbols) {
  std::vector<uint32_t> order(symbols.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](uint32_t i) { return std::tuple(symbols[i].address, symbols[i].size_bytes, i); });
  return order;
}

}  // namespace

SymbolCursor::SymbolCursor(std::span<const NamedCode> symbols, std::span<const CodeSection> sections) {
  const std::vector<Reach> reaches = add_names(symbols);
  for (const CodeSection& section : sections) {
    add_section(section, reaches);
  }
}

std::vector<SymbolCursor::Reach> SymbolCursor::add_names(std::span<const NamedCode> symbols) {
  const std::vector<uint32_t> order = in_order(symbols);
  std::vector<Reach> reaches;
  const NamedCode* best_known = nullptr;  // of those at one address so far
  for (size_t i = 0; i < order.size(); ++i) {
    const NamedCode& symbol = symbols[order[i]];
    if (best_known == nullptr || familiarity(symbol) < familiarity(*best_known)) {
      best_known = &symbol;
    }
    const uint64_t next = i + 1 < order.size() ? symbols[order[i + 1]].address : UINT64_MAX;
    if (next == symbol.address) {
      continue;
    }
    const bool is_sized = symbol.size_bytes != 0;
    const std::string_view alias = best_known->name == symbol.name ? std::string_view() : best_known->name;
    names_.push_back({symbol.name, alias, symbol.file, is_sized});
    reaches.push_back({symbol.address, is_sized && symbol.size_bytes < next - symbol.address
                                           ? symbol.address + symbol.size_bytes
                                           : next});
    best_known = nullptr;
  }
  return reaches;
}

void SymbolCursor::add_section(const CodeSection& section, std::span<const Reach> reaches) {
  uint64_t named_to = section.from;
  auto reach =
      std::ranges::partition_point(reaches, [&](const Reach& before) { return before.to <= section.from; });
  for (; reach != reaches.end() && reach->from < section.to; ++reach) {
    const uint64_t from = std::max(reach->from, section.from);
    if (named_to < from) {
      starts_.push_back({named_to, kNoName});
    }
    const auto name = static_cast<uint32_t>(reach - reaches.begin());
    starts_.push_back({from, name_in(section, name, *reach)});
    named_to = std::min(reach->to, section.to);
  }
  starts_.push_back({named_to, kNoName});
}

uint32_t SymbolCursor::name_in(const CodeSection& section, uint32_t name, const Reach& reach) {
  if (names_[name].is_sized || reach.from >= section.from) {
    return name;
  }
  CodeName behind = names_[name];
  behind.known_as = section.name;
  names_.push_back(behind);
  return static_cast<uint32_t>(names_.size() - 1);
}

}  // namespace plimsoll::symbolizer
