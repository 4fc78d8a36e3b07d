// Frames at the addresses of one unit of DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolizer/dwarf/dwarf_file.h"
#include "symbolizer/dwarf/unit_tree.h"

namespace plimsoll::symbolizer {

// The trees of units that were read, by the address of the unit's entry. A function's declaration may stand in another
// unit than its code (dwz, link-time optimization).
class UnitTrees {
 public:
  // Of the unit that the entry belongs to.
  const UnitTree& of(const Dwarf_Die& die);

 private:
  std::unordered_map<const void*, UnitTree> trees_;
  ReadBudget budget_;  // of all of them: the rest have no functions
};

// Valid as long as the Dwarf that the unit is of.
class UnitReader {
 public:
  UnitReader(Dwarf_Die unit, bool has_functions, UnitTrees& trees);

  // Innermost first; none where the unit says nothing about the address.
  std::vector<SourceFrame> frames_at(uint64_t address);

 private:
  std::string function_name(const Dwarf_Die& function);
  std::string path_of(const char* file) const;
  // Sets file and line of a frame to where the inlined call in it stands.
  void set_call_site(Dwarf_Die& inlined, SourceFrame& caller);

  Dwarf_Die unit_;
  const bool has_functions_;
  UnitTrees& trees_;
  std::string directory_;  // the compiler's, empty where unknown
  Dwarf_Files* files_ = nullptr;
};

}  // namespace plimsoll::symbolizer
