// Attributes of an entry that libdw has found.
#pragma once

#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "symbolizer/dwarf/ranges.h"
#include "symbolizer/libdw/dwarf_file.h"

namespace plimsoll::symbolizer {

// Empty where there is none.
inline std::string_view text_attribute(Dwarf_Die entry, unsigned name, const DwarfFile& file) {
  Dwarf_Attribute attribute{};
  return ::dwarf_attr(&entry, name, &attribute) == nullptr ? std::string_view()
                                                           : file.text_at(::dwarf_formstring(&attribute));
}

// 0 where there is none.
inline uint32_t number_attribute(Dwarf_Die entry, unsigned name) {
  Dwarf_Attribute attribute{};
  Dwarf_Word value = 0;
  const bool is_there =
      ::dwarf_attr(&entry, name, &attribute) != nullptr && ::dwarf_formudata(&attribute, &value) == 0;
  return is_there ? static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX)) : 0;
}

inline bool flag_attribute(Dwarf_Die entry, unsigned name) {
  Dwarf_Attribute attribute{};
  bool value = false;
  return ::dwarf_attr(&entry, name, &attribute) != nullptr && ::dwarf_formflag(&attribute, &value) == 0 &&
         value;
}

// The entry that an attribute refers to.
inline std::optional<Dwarf_Die> entry_attribute(Dwarf_Die entry, unsigned name) {
  Dwarf_Attribute attribute{};
  Dwarf_Die found{};
  return ::dwarf_attr(&entry, name, &attribute) != nullptr &&
                 ::dwarf_formref_die(&attribute, &found) != nullptr
             ? std::optional(found)
             : std::nullopt;
}

// At the addresses of the table. Nothing where that is empty, wraps around, or no code stays loaded there.
std::optional<AddressRange> range_of(uint64_t said, uint64_t size_bytes, const DwarfFile& file);

// Appends the entry's addresses. False where they cannot be read, or there are more than `budget`, which is used up.
bool append_ranges(Dwarf_Die entry, const DwarfFile& file, uint64_t& budget,
                   std::vector<AddressRange>& ranges);

}  // namespace plimsoll::symbolizer
