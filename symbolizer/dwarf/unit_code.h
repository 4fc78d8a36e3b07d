// The code that one unit of DWARF describes: functions, calls inlined into them, and where the bytes of each are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolizer/dwarf/attributes.h"
#include "symbolizer/dwarf/declarations.h"
#include "symbolizer/dwarf/ranges.h"

namespace plimsoll::symbolizer {

// A function with code of its own, or one inlined into another.
struct CodeScope {
  uint32_t parent = kNoScope;     // that it was inlined into; kNoScope: it was not
  uint64_t entry = 0;             // in .debug_info, which names the function
  bool is_in_supplement = false;  // the entry is in dwz's supplementary file
  // Where the call stands that was inlined, in the parent's code; 0: unknown.
  uint32_t call_file = 0;
  uint32_t call_line = 0;
  uint32_t call_column = 0;
  uint32_t call_discriminator = 0;
};

struct ScopeRange {
  uint64_t from;
  uint64_t to;
  uint32_t scope;
};

// What may still be read of a file. Many entries of a damaged one may refer to one long list of ranges: the size of
// the file does not bound what is read of it.
struct CodeBudget {
  uint64_t range_entries = 50'000'000;
  uint64_t line_rows = 200'000'000;

  // False, and nothing left, where there is less than that.
  bool take(const CodeBudget& used) {
    const bool has_enough = used.range_entries <= range_entries && used.line_rows <= line_rows;
    *this = has_enough ? *this - used : CodeBudget{0, 0};
    return has_enough;
  }
  CodeBudget operator-(const CodeBudget& other) const {
    return {range_entries - other.range_entries, line_rows - other.line_rows};
  }
};

// What a unit's own entry says of it.
struct UnitAttributes {
  uint16_t tag = 0;  // DW_TAG_compile_unit, or those of skeletons, partial units, units of types
  std::string_view name;
  std::string_view directory;  // the compiler's
  std::string_view producer;
  std::string_view dwo_name;  // of a skeleton: the file of split DWARF
  uint64_t dwo_id = 0;
  uint32_t language = 0;  // DW_LANG_*
  bool has_line_table = false;
  uint64_t line_table = 0;  // in .debug_line
  std::vector<AddressRange> ranges;
  // They are one piece from low_pc to high_pc, of which there may be more that the entry has no means to tell
  // (aranges.h).
  bool tells_one_range = false;
};

// Fills in the unit's bases and low_pc besides.
Result<UnitAttributes> read_unit_attributes(Unit& unit, CodeBudget& budget);

struct UnitCode {
  // Each after the scope that it was inlined into.
  std::vector<CodeScope> scopes;
  // Those of inlined calls come after the ranges that they lie within.
  std::vector<ScopeRange> ranges;
  UnitNames names;
  // Why a part is missing, in words; empty: it is all there.
  std::string damage;
};

// One pass over the unit's entries. Bounded in depth, in size by the section, and by the budget, which it uses up.
UnitCode read_unit_code(const Unit& unit, CodeBudget& budget);

// What an entry, or those that it refers to, call a function.
struct FunctionName {
  std::string_view linkage_name;  // empty: none
  std::string_view name;          // in the source, without what it stands within
  uint32_t line = 0;              // where it is declared; 0: unknown
  // The last entry that was followed: the declaration, where there is one.
  uint64_t home = 0;
  bool is_home_in_supplement = false;
};

}  // namespace plimsoll::symbolizer
