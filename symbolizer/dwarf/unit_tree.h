// What one unit of DWARF declares: functions with code, and the scopes that functions are named within.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace plimsoll::symbolizer {

// What may still be read. Many entries of a damaged file may refer to one long list of ranges, or to one long name: the
// size of the file bounds neither.
struct ReadBudget {
  uint64_t ranges = 5'000'000;  // whether or not they are of use
  uint64_t scope_bytes = uint64_t{256} << 20;

  // False, with nothing left of it, where it does not cover the bytes.
  bool take_scope_bytes(uint64_t bytes);
};

// Immutable once read; valid as long as the Dwarf it was read from.
class UnitTree {
 public:
  UnitTree() = default;
  // One pass over the unit. Bounded in depth and by the budget, which it uses up; a damaged part is left out.
  static UnitTree read(Dwarf_Die unit, ReadBudget& budget);

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
  explicit UnitTree(ReadBudget& budget) : budget_(&budget) {}
  void visit_children(Dwarf_Die& parent, uint32_t scope, int depth);
  void visit(Dwarf_Die& die, uint32_t scope, int depth);
  void add_function(Dwarf_Die& die, uint32_t scope);
  // The scope of what stands within `die`.
  uint32_t scope_within(Dwarf_Die& die, uint32_t outer, std::string_view anonymous);

  std::vector<Function> functions_;     // by `from`
  std::vector<std::string> scopes_{1};  // 0: none
  std::unordered_map<const void*, uint32_t>
      scope_of_;  // by the address of the function's entry; those with one
  // While it is read:
  ReadBudget* budget_ = nullptr;
  const void* last_ = nullptr;  // the highest entry that was visited
};

// The entry that first declared the function of this one.
Dwarf_Die declaration_of(Dwarf_Die die);

// Calls visit(child) for the children of an entry, until it returns false. `last` is the highest entry of one walk, in
// which addresses rise: the walk ends where a damaged entry leads back to what was seen, so that it takes each once.
template <typename Visit>
void for_each_child(Dwarf_Die& parent, const void*& last, Visit visit) {
  Dwarf_Die child{};
  int status = ::dwarf_child(&parent, &child);
  while (status == 0 && std::less<>()(last, static_cast<const void*>(child.addr))) {
    last = child.addr;
    if (!visit(child)) {
      return;
    }
    Dwarf_Die next{};
    status = ::dwarf_siblingof(&child, &next);
    child = next;
  }
}

}  // namespace plimsoll::symbolizer
