// The entries of one unit, as libdw walks through them.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

#include "symbolizer/dwarf/unit_code.h"
#include "symbolizer/libdw/dwarf_file.h"

namespace plimsoll::symbolizer {

struct EntriesRead {
  UnitCode code;
  std::vector<FunctionName> names;  // by scope
  uint64_t entries = 0;             // that were visited
};

// Goes on behind an entry that libdw cannot read where the entry around it says where it ends (DW_AT_sibling). Bounded in depth, in
// entries, and by `range_entries`, which it uses up.
EntriesRead read_entries(Dwarf_Die unit, const DwarfFile& file, uint64_t& range_entries);

}  // namespace plimsoll::symbolizer
