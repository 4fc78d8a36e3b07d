#include "symbolizer/libdw/entry_values.h"

namespace plimsoll::symbolizer {

bool append_ranges(Dwarf_Die entry, const DwarfFile& file, uint64_t& budget,
                   std::vector<AddressRange>& ranges) {
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
