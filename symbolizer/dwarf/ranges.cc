#include "symbolizer/dwarf/ranges.h"

#include <dwarf.h>

namespace plimsoll::symbolizer {
namespace {

uint64_t read_address(const Unit& unit, ByteReader& reader) {
  return unit.header->address_bytes == 8 ? reader.read<uint64_t>() : reader.read<uint32_t>();
}

void append(uint64_t from, uint64_t to, std::vector<AddressRange>& ranges) {
  if (from < to) {
    ranges.push_back({from, to});
  }
}

// Takes one from the budget.
bool take(uint64_t& budget) {
  if (budget == 0) {
    return false;
  }
  --budget;
  return true;
}

// .debug_ranges: pairs relative to a base; the largest address announces another base, two zeros end the list.
bool read_old(uint64_t offset, const Unit& unit, uint64_t& budget, std::vector<AddressRange>& ranges) {
  const uint64_t largest = unit.header->address_bytes == 8 ? UINT64_MAX : UINT32_MAX;
  ByteReader reader(unit.address_sections->ranges);
  reader.seek(offset);
  uint64_t base = unit.low_pc;
  while (take(budget)) {
    const uint64_t from = read_address(unit, reader);
    const uint64_t to = read_address(unit, reader);
    if (!reader.ok() || (from == 0 && to == 0)) {
      return reader.ok();
    }
    if (from == largest) {
      base = to;
    } else {
      append(base + from, base + to, ranges);
    }
  }
  return false;
}

// One entry of .debug_rnglists; false behind the last.
bool read_entry(const Unit& unit, uint64_t& base, ByteReader& reader, std::vector<AddressRange>& ranges) {
  const auto indexed = [&] { return indexed_address(reader.uleb128(), unit).value_or(0); };
  switch (reader.read<uint8_t>()) {
    case DW_RLE_base_addressx:
      base = indexed();
      return true;
    case DW_RLE_startx_endx: {
      const uint64_t from = indexed();
      append(from, indexed(), ranges);
      return true;
    }
    case DW_RLE_startx_length: {
      const uint64_t from = indexed();
      append(from, from + reader.uleb128(), ranges);
      return true;
    }
    case DW_RLE_offset_pair: {
      const uint64_t from = reader.uleb128();
      append(base + from, base + reader.uleb128(), ranges);
      return true;
    }
    case DW_RLE_base_address:
      base = read_address(unit, reader);
      return true;
    case DW_RLE_start_end: {
      const uint64_t from = read_address(unit, reader);
      append(from, read_address(unit, reader), ranges);
      return true;
    }
    case DW_RLE_start_length: {
      const uint64_t from = read_address(unit, reader);
      append(from, from + reader.uleb128(), ranges);
      return true;
    }
    case DW_RLE_end_of_list:
      return false;
    default:
      reader.seek(UINT64_MAX);
      return false;
  }
}

bool read_new(uint64_t offset, const Unit& unit, uint64_t& budget, std::vector<AddressRange>& ranges) {
  ByteReader reader(unit.sections->rnglists);
  reader.seek(offset);
  uint64_t base = unit.low_pc;
  while (take(budget) && reader.ok()) {
    if (!read_entry(unit, base, reader, ranges)) {
      return reader.ok();
    }
  }
  return false;
}

// The offsets behind the list header, which the base points to, are relative to that base.
std::optional<uint64_t> list_offset(uint64_t index, const Unit& unit) {
  const unsigned bytes = unit.header->offset_bytes;
  const Bytes section = unit.sections->rnglists;
  if (index > section.size() / bytes || unit.bases.rnglists > section.size()) {
    return std::nullopt;
  }
  ByteReader reader(section);
  reader.seek(unit.bases.rnglists + index * bytes);
  const uint64_t offset = bytes == 8 ? reader.read<uint64_t>() : reader.read<uint32_t>();
  return reader.ok() ? std::optional(unit.bases.rnglists + offset) : std::nullopt;
}

}  // namespace

bool read_ranges(const AttributeValue& list, const Unit& unit, uint64_t& budget,
                 std::vector<AddressRange>& ranges) {
  if (list.kind == AttributeValue::Kind::kListIndex) {
    const auto offset = list_offset(list.value, unit);
    return offset && read_new(*offset, unit, budget, ranges);
  }
  // DWARF 2 and 3 have offsets as plain constants.
  if (list.kind != AttributeValue::Kind::kSectionOffset && list.kind != AttributeValue::Kind::kConstant) {
    return false;
  }
  return unit.header->version >= 5 ? read_new(list.value, unit, budget, ranges)
                                   : read_old(unit.bases.ranges + list.value, unit, budget, ranges);
}

}  // namespace plimsoll::symbolizer
