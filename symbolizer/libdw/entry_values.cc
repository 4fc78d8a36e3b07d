#include "symbolizer/libdw/entry_values.h"

#include <dwarf.h>

namespace plimsoll::symbolizer {

bool append_ranges(Dwarf_Die entry, const DwarfFile& file, uint64_t& budget,
                   std::vector<AddressRange>& ranges) {
  const bool has_ranges =
      ::dwarf_hasattr(&entry, DW_AT_ranges) != 0 ||
      (::dwarf_hasattr(&entry, DW_AT_low_pc) != 0 && ::dwarf_hasattr(&entry, DW_AT_high_pc) != 0);
  if (!has_ranges) {
    return true;
  }
  Dwarf_Addr base = 0;
  Dwarf_Addr from = 0;
  Dwarf_Addr to = 0;
  ptrdiff_t next = 0;
  while ((next = ::dwarf_ranges(&entry, next, &base, &from, &to)) > 0) {
    if (budget == 0) {
      return false;
    }
    --budget;
    const auto begin = from < to ? file.address_of(from) : std::nullopt;
    if (begin) {
      ranges.push_back({*begin, *begin + (to - from)});
    }
  }
  return next == 0;
}

}  // namespace plimsoll::symbolizer
