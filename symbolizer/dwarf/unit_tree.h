// What one unit of DWARF declares: functions with code, and the scopes that functions are named within.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace plimsoll::symbolizer {

// Immutable once read; valid as long as the Dwarf it was read from.
class UnitTree {
 public:
  // One pass over the unit. Bounded in depth; a damaged part is left out.
  static UnitTree read(Dwarf_Die unit);

  // The innermost function with code at the address; null where there is none.
  const Dwarf_Die* function_at(uint64_t address) const;

  template <typename Consume>
  void for_each_range(Consume consume) const {
    for (const Function& function : functions_) {
      consume(function.from, function.to);
    }
  }

  // Namespaces and classes around a function's entry, "a::B"; empty where there are none.
  const std::string& scope_of(const Dwarf_Die& function) const;

 private:
  struct Function {
    uint64_t from;
    uint64_t to;
    Dwarf_Die die;
  };
  void visit_children(Dwarf_Die& parent, uint32_t scope, int depth);
  void visit(Dwarf_Die& die, uint32_t scope, int depth);
  void add_function(Dwarf_Die& die, uint32_t scope);
  // The scope of what stands within `die`.
  uint32_t scope_within(Dwarf_Die& die, uint32_t outer, std::string_view anonymous);

  std::vector<Function> functions_;     // by `from`
  std::vector<std::string> scopes_{1};  // 0: none
  std::unordered_map<const void*, uint32_t>
      scope_of_;  // by the address of the function's entry; those with one
};

// The entry that first declared the function of this one.
Dwarf_Die declaration_of(Dwarf_Die die);

// Calls visit(child) for the children of an entry, until it returns false. Ends where a damaged entry leads backwards.
template <typename Visit>
void for_each_child(Dwarf_Die& parent, Visit visit) {
  Dwarf_Die child{};
  if (::dwarf_child(&parent, &child) != 0) {
    return;
  }
  while (visit(child)) {
    Dwarf_Die next{};
    if (::dwarf_siblingof(&child, &next) != 0 || next.addr <= child.addr) {
      return;
    }
    child = next;
  }
}

}  // namespace plimsoll::symbolizer
