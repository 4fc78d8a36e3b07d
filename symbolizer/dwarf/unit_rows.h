// The code of one unit as rows by address: which function or inlined call, and which line, the code there is of.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "symbolizer/dwarf/flatten.h"
#include "symbolizer/dwarf/unit_set.h"

namespace plimsoll::symbolizer {

struct UnitRows {
  std::optional<LineTable> lines;  // that rows and scopes have their lines and files from
  std::vector<CodeScope> scopes;
  // By scope, where another reader has read the unit: its entries are not to be read again. Else empty.
  std::vector<FunctionName> scope_names;
  std::vector<CodeRow> rows;
  UnitNames names;
  std::vector<std::string> problems;  // what could not be read, in words
  bool is_damaged = false;            // so that another reader may find more in it
};

// Units without code of their own (partial ones, and those of types) have names only, though they may refer to the line table of
// one that has. `linked` has the addresses and the line table; `described` the functions: the same unit, or the other half of a skeleton.
// Reads the sections only, so that several threads may, each with a budget of its own.
UnitRows read_unit_rows(const UnitSet::Member& linked, const UnitSet::Member& described,
                        const std::function<bool(uint64_t from)>& is_code, CodeBudget& budget);

}  // namespace plimsoll::symbolizer
