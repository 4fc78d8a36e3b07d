#include "symbolizer/dwarf/declarations.h"

#include <dwarf.h>

#include <algorithm>

namespace plimsoll::symbolizer {
namespace {

// Compilers nest namespaces, classes and functions some dozens deep at most; a damaged file may nest them in a circle.
constexpr int kMaxScopeDepth = 100;

NamedEntry read_entry(uint64_t entry, const Unit& unit) {
  ByteReader reader(unit.sections->info.first(unit.header->end));
  reader.seek(entry);
  const Abbreviation* const abbreviation = unit.abbreviations->find(reader.uleb128());
  NamedEntry named;
  if (abbreviation == nullptr) {
    return named;
  }
  for (const AttributeSpec& spec : unit.abbreviations->attributes_of(*abbreviation)) {
    const AttributeValue value = read_attribute(spec, unit, reader);
    if (spec.name == DW_AT_name) {
      named.name = text_of(value);
    } else if ((spec.name == DW_AT_specification || spec.name == DW_AT_abstract_origin) &&
               value.kind == AttributeValue::Kind::kReference) {
      named.refers_to = value.value;
    }
  }
  return named;
}

}  // namespace

Declarations::Declarations(const Unit& unit)
    : read_entry_([&unit](uint64_t entry) { return read_entry(entry, unit); }) {}

bool Declarations::is_scope(uint16_t tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_module:
    case DW_TAG_subprogram:
      return true;
    default:
      return false;
  }
}

uint32_t Declarations::add_scope(uint64_t entry, uint16_t tag, uint32_t within) {
  scopes_.push_back({.entry = entry, .within = within, .tag = tag});
  return static_cast<uint32_t>(scopes_.size() - 1);
}

void Declarations::add_function(uint64_t entry, uint32_t within, bool has_linkage_name) {
  functions_.push_back({entry, within, has_linkage_name});
}

std::string_view Declarations::resolve_function(uint64_t entry, uint32_t& within) const {
  NamedEntry named = read_entry_(entry);
  for (int followed = 0; followed < kMaxReferences && named.refers_to != 0; ++followed) {
    const auto declared = std::ranges::lower_bound(functions_, named.refers_to, {}, &Function::entry);
    if (declared == functions_.end() || declared->entry != named.refers_to) {
      break;
    }
    within = declared->within;
    const NamedEntry next = read_entry_(declared->entry);
    named = {named.name.empty() ? next.name : named.name, next.refers_to};
  }
  return named.name;
}

uint32_t Declarations::name_scope(uint32_t number, int depth) {
  if (number == kNoScope || depth > kMaxScopeDepth) {
    return kNoScope;
  }
  if (!scopes_[number].is_named) {
    const Scope scope = scopes_[number];
    scopes_[number].is_named = true;
    uint32_t within = scope.within;
    const std::string_view name = scope.tag == DW_TAG_subprogram ? resolve_function(scope.entry, within)
                                                                 : read_entry_(scope.entry).name;
    const uint32_t parent = name_scope(within, depth + 1);
    names_.scopes.push_back({name, parent, scope.tag});
    scopes_[number].named_as = static_cast<uint32_t>(names_.scopes.size() - 1);
  }
  return scopes_[number].named_as;
}

UnitNames Declarations::names() && {
  for (const Function& function : functions_) {
    const uint32_t scope = function.has_linkage_name ? kNoScope : name_scope(function.within, 0);
    if (scope != kNoScope) {
      names_.functions.push_back({function.entry, scope});
    }
  }
  return std::move(names_);
}

}  // namespace plimsoll::symbolizer
