// The line table of one unit, as libdw reads it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "symbolizer/dwarf/line_table.h"
#include "symbolizer/libdw/dwarf_file.h"

namespace plimsoll::symbolizer {

// `directory` is the compiler's. kTooLarge where there are more than `line_rows`, which it uses up. libdw sorts rows by address: of
// sequences that overlap, which linkers leave of functions that they dropped, parts may be taken for one another's.
Result<LineTable> read_unit_lines(Dwarf_Die unit, const DwarfFile& file, std::string_view directory,
                                  uint64_t& line_rows);

}  // namespace plimsoll::symbolizer
