// What the functions of a unit are declared in: namespaces, classes, other functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolizer/dwarf/attributes.h"

namespace plimsoll::symbolizer {

inline constexpr uint32_t kNoScope = UINT32_MAX;

// Something that names stand in.
struct NameScope {
  std::string_view name;  // empty: it has none
  uint32_t parent = kNoScope;
  uint16_t tag = 0;  // DW_TAG_*
};

// A function, and what it stands in.
struct ScopedFunction {
  uint64_t entry;
  uint32_t name_scope;
};

// Functions without a linkage name, by entry, and what they stand in.
struct UnitNames {
  std::vector<NameScope> scopes;
  std::vector<ScopedFunction> functions;
};

// What an entry says of its own name.
struct NamedEntry {
  std::string_view name;
  uint64_t refers_to = 0;  // the declaration, or the abstract function; 0: nothing in this unit
};
using ReadNamedEntry = std::function<NamedEntry(uint64_t entry)>;

// Filled in one pass over a unit. Names are read at the end, a second time, for the few functions that need them. One thread.
class Declarations {
 public:
  // Borrows the unit.
  explicit Declarations(const Unit& unit);
  // For a unit that another reader reads.
  explicit Declarations(ReadNamedEntry read_entry) : read_entry_(std::move(read_entry)) {}

  // Whether names stand in entries with that tag.
  static bool is_scope(uint16_t tag);

  // An entry that names stand in, within another (kNoScope: in none); gives its number.
  uint32_t add_scope(uint64_t entry, uint16_t tag, uint32_t within);
  // The scope that a function is declared in which is met within these entries, outermost first. They are numbered when the first function
  // is met within them: most entries with children have none. Open: entry, tag, and name_scope, which this sets.
  template <typename Open>
  uint32_t declaring_scope(std::span<Open> open);
  // Every function, in the order of the entries.
  void add_function(uint64_t entry, uint32_t within, bool has_linkage_name);

  UnitNames names() &&;

 private:
  struct Scope {
    uint64_t entry;
    uint32_t within;
    uint16_t tag;
    bool is_named = false;         // named_as says
    uint32_t named_as = kNoScope;  // of names_.scopes
  };
  struct Function {
    uint64_t entry;
    uint32_t within;
    bool has_linkage_name;
  };

  uint32_t name_scope(uint32_t number, int depth);
  // The function's own name, from its declaration where it has one, and what that stands in.
  std::string_view resolve_function(uint64_t entry, uint32_t& within) const;

  ReadNamedEntry read_entry_;
  std::vector<Scope> scopes_;
  std::vector<Function> functions_;
  UnitNames names_;
};

template <typename Open>
uint32_t Declarations::declaring_scope(std::span<Open> open) {
  size_t first = open.size();
  while (first > 0 && open[first - 1].name_scope == kNoScope) {
    --first;
  }
  uint32_t within = first > 0 ? open[first - 1].name_scope : kNoScope;
  for (Open& entry : open.subspan(first)) {
    if (is_scope(entry.tag)) {
      within = entry.name_scope = add_scope(entry.entry, entry.tag, within);
    }
  }
  return within;
}

}  // namespace plimsoll::symbolizer
