#include "symbolizer/libdw/entry_values.h"

#include <dwarf.h>

namespace plimsoll::symbolizer {

std::optional<AddressRange> range_of(uint64_t said, uint64_t size_bytes, const DwarfFile& file) {
  const auto begin = size_bytes != 0 ? file.address_of(said) : std::nullopt;
  return begin && size_bytes <= UINT64_MAX - *begin ? std::optional(AddressRange{*begin, *begin + size_bytes})
                                                    : std::nullopt;
}

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
    if (const auto range = range_of(from, from < to ? to - from : 0, file)) {
      ranges.push_back(*range);
    }
  }
  return next == 0;
}

}  // namespace plimsoll::symbolizer
