#include "symbolizer/dwarf/unit_tree.h"

#include <dwarf.h>

#include <algorithm>

namespace plimsoll::symbolizer {
namespace {

// Namespaces, classes, functions and blocks within one another. Compilers stay far below; recursion takes stack.
constexpr int kMaxDepth = 200;
constexpr int kMaxOverlapping = 16;
constexpr size_t kMaxScopeBytes = 4096;
constexpr int kMaxOrigins = 16;  // as many as libdw follows

}  // namespace

Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int i = 0; i < kMaxOrigins; ++i) {
    Dwarf_Attribute attribute{};
    Dwarf_Attribute* link = ::dwarf_attr(&die, DW_AT_abstract_origin, &attribute);
    link = link == nullptr ? ::dwarf_attr(&die, DW_AT_specification, &attribute) : link;
    Dwarf_Die origin{};
    if (link == nullptr || ::dwarf_formref_die(link, &origin) == nullptr) {
      break;
    }
    die = origin;
  }
  return die;
}

bool ReadBudget::take_scope_bytes(uint64_t bytes) {
  const bool is_covered = bytes <= scope_bytes;
  scope_bytes = is_covered ? scope_bytes - bytes : 0;
  return is_covered;
}

UnitTree UnitTree::read(Dwarf_Die unit, ReadBudget& budget) {
  UnitTree tree(budget);
  tree.visit_children(unit, 0, 0);
  std::ranges::sort(tree.functions_, [](const Function& a, const Function& b) {
    return a.from != b.from ? a.from < b.from : a.to > b.to;
  });
  tree.budget_ = nullptr;
  return tree;
}

void UnitTree::visit_children(Dwarf_Die& parent, uint32_t scope, int depth) {
  if (depth == kMaxDepth) {
    return;
  }
  for_each_child(parent, last_, [&](Dwarf_Die& child) {
    visit(child, scope, depth);
    return budget_->ranges > 0;
  });
}

void UnitTree::visit(Dwarf_Die& die, uint32_t scope, int depth) {
  switch (::dwarf_tag(&die)) {
    case DW_TAG_subprogram:
      add_function(die, scope);
      if (::dwarf_haschildren(&die) == 1) {
        // A definition stands outside the namespace or class of its declaration, which comes first.
        const auto declared = scope_of_.find(declaration_of(die).addr);
        const uint32_t outer = declared == scope_of_.end() ? scope : declared->second;
        visit_children(die, scope_within(die, outer, ""), depth + 1);
      }
      break;
    case DW_TAG_lexical_block:
      visit_children(die, scope, depth + 1);
      break;
    case DW_TAG_namespace:
    case DW_TAG_module:
      visit_children(die, scope_within(die, scope, "(anonymous namespace)"), depth + 1);
      break;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      if (::dwarf_haschildren(&die) == 1) {
        visit_children(die, scope_within(die, scope, "(anonymous class)"), depth + 1);
      }
      break;
    default:
      break;
  }
}

uint32_t UnitTree::scope_within(Dwarf_Die& die, uint32_t outer, std::string_view anonymous) {
  Dwarf_Attribute attribute{};
  const char* const name = ::dwarf_formstring(::dwarf_attr_integrate(&die, DW_AT_name, &attribute));
  const std::string_view own = name == nullptr ? anonymous : std::string_view(name);
  if ((name == nullptr && anonymous.empty()) || own.size() > kMaxScopeBytes) {
    return outer;
  }
  if (!budget_->take_scope_bytes(sizeof(std::string) + scopes_[outer].size() + own.size())) {
    return outer;
  }
  std::string text = scopes_[outer];
  text += text.empty() ? "" : "::";
  text += own;
  if (text.size() > kMaxScopeBytes) {
    return outer;
  }
  scopes_.push_back(std::move(text));
  return static_cast<uint32_t>(scopes_.size() - 1);
}

void UnitTree::add_function(Dwarf_Die& die, uint32_t scope) {
  if (scope != 0) {
    scope_of_.emplace(die.addr, scope);
  }
  Dwarf_Addr base = 0;
  Dwarf_Addr from = 0;
  Dwarf_Addr to = 0;
  ptrdiff_t position = 0;
  while (budget_->ranges > 0 && (position = ::dwarf_ranges(&die, position, &base, &from, &to)) > 0) {
    --budget_->ranges;
    if (from < to) {
      functions_.push_back({from, to, die});
    }
  }
}

const Dwarf_Die* UnitTree::function_at(uint64_t address) const {
  auto function = std::ranges::upper_bound(functions_, address, {}, &Function::from);
  for (int i = 0; i < kMaxOverlapping && function != functions_.begin(); ++i) {
    --function;
    if (address < function->to) {
      return &function->die;
    }
  }
  return nullptr;
}

const std::string& UnitTree::scope_of(const Dwarf_Die& function) const {
  const auto found = scope_of_.find(function.addr);
  return scopes_[found == scope_of_.end() ? 0 : found->second];
}

}  // namespace plimsoll::symbolizer
