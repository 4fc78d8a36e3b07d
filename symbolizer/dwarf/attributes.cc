#include "symbolizer/dwarf/attributes.h"

#include <dwarf.h>

namespace plimsoll::symbolizer {
namespace {

using Kind = AttributeValue::Kind;

uint64_t read_sized(unsigned bytes, ByteReader& reader) {
  switch (bytes) {
    case 1:
      return reader.read<uint8_t>();
    case 2:
      return reader.read<uint16_t>();
    case 3: {
      const uint64_t low = reader.read<uint16_t>();
      return low | uint64_t{reader.read<uint8_t>()} << 16U;
    }
    case 4:
      return reader.read<uint32_t>();
    default:
      return reader.read<uint64_t>();
  }
}

Bytes text_at(Bytes section, uint64_t offset) {
  return offset < section.size() ? section.subspan(static_cast<size_t>(offset)) : Bytes();
}

// The element of an array of offsets or addresses in a section.
std::optional<uint64_t> element_at(Bytes section, uint64_t base, uint64_t index, unsigned bytes) {
  if (index > section.size() / bytes || base > section.size()) {
    return std::nullopt;
  }
  ByteReader reader(section);
  reader.seek(base + index * bytes);
  const uint64_t value = read_sized(bytes, reader);
  return reader.ok() ? std::optional(value) : std::nullopt;
}

AttributeValue text(Bytes at) {
  return {.kind = Kind::kText, .text = at};
}

AttributeValue indexed_text(uint64_t index, const Unit& unit) {
  const auto offset =
      element_at(unit.sections->str_offsets, unit.bases.str_offsets, index, unit.header->offset_bytes);
  return offset ? text(text_at(unit.sections->str, *offset)) : AttributeValue();
}

AttributeValue supplement_text(uint64_t offset, const Unit& unit) {
  return unit.supplement != nullptr ? text(text_at(unit.supplement->str, offset)) : AttributeValue();
}

AttributeValue constant(uint64_t value) {
  return {.kind = Kind::kConstant, .value = value};
}

AttributeValue reference_in_unit(uint64_t offset, const Unit& unit) {
  return {.kind = Kind::kReference, .value = unit.header->offset + offset};
}

AttributeValue address_index(uint64_t index) {
  return {.kind = Kind::kAddressIndex, .value = index};
}

AttributeValue skip_block(uint64_t bytes, ByteReader& reader) {
  reader.skip(bytes);
  return {};
}

AttributeValue read_form(uint64_t form, const Unit& unit, ByteReader& reader, bool is_indirect);

// Which form it is stands before the value.
AttributeValue read_indirect(const Unit& unit, ByteReader& reader, bool is_indirect) {
  const uint64_t form = reader.uleb128();
  if (is_indirect || form == DW_FORM_implicit_const) {
    reader.seek(UINT64_MAX);
    return {};
  }
  return read_form(form, unit, reader, true);
}

AttributeValue read_text_form(uint64_t form, const Unit& unit, ByteReader& reader) {
  const unsigned offset_bytes = unit.header->offset_bytes;
  switch (form) {
    case DW_FORM_string: {
      const std::string_view found = reader.c_string();
      return !reader.ok() ? AttributeValue()
                          : text(Bytes(reinterpret_cast<const std::byte*>(found.data()), found.size() + 1));
    }
    case DW_FORM_strp:
      return text(text_at(unit.sections->str, read_sized(offset_bytes, reader)));
    case DW_FORM_line_strp:
      return text(text_at(unit.sections->line_str, read_sized(offset_bytes, reader)));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
      return indexed_text(reader.uleb128(), unit);
    case DW_FORM_strx1:
      return indexed_text(reader.read<uint8_t>(), unit);
    case DW_FORM_strx2:
      return indexed_text(reader.read<uint16_t>(), unit);
    case DW_FORM_strx3:
      return indexed_text(read_sized(3, reader), unit);
    case DW_FORM_strx4:
      return indexed_text(reader.read<uint32_t>(), unit);
    default:  // DW_FORM_strp_sup, DW_FORM_GNU_strp_alt
      return supplement_text(read_sized(offset_bytes, reader), unit);
  }
}

AttributeValue read_form(uint64_t form, const Unit& unit, ByteReader& reader, bool is_indirect) {
  const UnitHeader& header = *unit.header;
  switch (form) {
    case DW_FORM_addr:
      return {.kind = Kind::kAddress, .value = read_sized(header.address_bytes, reader)};
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
      return address_index(reader.uleb128());
    case DW_FORM_addrx1:
      return address_index(reader.read<uint8_t>());
    case DW_FORM_addrx2:
      return address_index(reader.read<uint16_t>());
    case DW_FORM_addrx3:
      return address_index(read_sized(3, reader));
    case DW_FORM_addrx4:
      return address_index(reader.read<uint32_t>());
    case DW_FORM_data1:
    case DW_FORM_flag:
      return constant(reader.read<uint8_t>());
    case DW_FORM_data2:
      return constant(reader.read<uint16_t>());
    case DW_FORM_data4:
      return constant(reader.read<uint32_t>());
    case DW_FORM_data8:
      return constant(reader.read<uint64_t>());
    case DW_FORM_sdata:
      return constant(static_cast<uint64_t>(reader.sleb128()));
    case DW_FORM_udata:
      return constant(reader.uleb128());
    case DW_FORM_flag_present:
      return constant(1);
    case DW_FORM_ref1:
      return reference_in_unit(reader.read<uint8_t>(), unit);
    case DW_FORM_ref2:
      return reference_in_unit(reader.read<uint16_t>(), unit);
    case DW_FORM_ref4:
      return reference_in_unit(reader.read<uint32_t>(), unit);
    case DW_FORM_ref8:
      return reference_in_unit(reader.read<uint64_t>(), unit);
    case DW_FORM_ref_udata:
      return reference_in_unit(reader.uleb128(), unit);
    case DW_FORM_ref_addr:
      // DWARF 2 gave it the size of an address.
      return {.kind = Kind::kReference,
              .value = read_sized(header.version == 2 ? header.address_bytes : header.offset_bytes, reader)};
    case DW_FORM_GNU_ref_alt:
      return {.kind = Kind::kSupplementReference, .value = read_sized(header.offset_bytes, reader)};
    case DW_FORM_ref_sup4:
      return {.kind = Kind::kSupplementReference, .value = reader.read<uint32_t>()};
    case DW_FORM_ref_sup8:
      return {.kind = Kind::kSupplementReference, .value = reader.read<uint64_t>()};
    case DW_FORM_sec_offset:
      return {.kind = Kind::kSectionOffset, .value = read_sized(header.offset_bytes, reader)};
    case DW_FORM_rnglistx:
      return {.kind = Kind::kListIndex, .value = reader.uleb128()};
    case DW_FORM_loclistx:
      reader.uleb128();
      return {};
    case DW_FORM_ref_sig8:
      return skip_block(8, reader);
    case DW_FORM_data16:
      return skip_block(16, reader);
    case DW_FORM_block1:
      return skip_block(reader.read<uint8_t>(), reader);
    case DW_FORM_block2:
      return skip_block(reader.read<uint16_t>(), reader);
    case DW_FORM_block4:
      return skip_block(reader.read<uint32_t>(), reader);
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return skip_block(reader.uleb128(), reader);
    case DW_FORM_string:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
      return read_text_form(form, unit, reader);
    case DW_FORM_indirect:
      return read_indirect(unit, reader, is_indirect);
    default:
      reader.seek(UINT64_MAX);
      return {};
  }
}

}  // namespace

AttributeValue read_attribute(const AttributeSpec& spec, const Unit& unit, ByteReader& reader) {
  return spec.form == DW_FORM_implicit_const ? constant(static_cast<uint64_t>(spec.implicit_value))
                                             : read_form(spec.form, unit, reader, false);
}

void skip_attributes(const Abbreviation& abbreviation, const Unit& unit, ByteReader& reader) {
  const FixedLength& length = abbreviation.length;
  if (length.is_fixed) {
    reader.skip(length.bytes + uint64_t{length.addresses} * unit.header->address_bytes +
                uint64_t{length.offsets} * unit.header->offset_bytes);
    return;
  }
  for (const AttributeSpec& spec : unit.abbreviations->attributes_of(abbreviation)) {
    read_attribute(spec, unit, reader);
  }
}

std::string_view text_of(const AttributeValue& value) {
  ByteReader reader(value.text);
  return reader.c_string();
}

std::optional<uint64_t> indexed_address(uint64_t index, const Unit& unit) {
  return element_at(unit.address_sections->addr, unit.bases.addr, index, unit.header->address_bytes);
}

std::optional<uint64_t> address_of(const AttributeValue& value, const Unit& unit) {
  switch (value.kind) {
    case Kind::kAddress:
      return value.value;
    case Kind::kAddressIndex:
      return indexed_address(value.value, unit);
    default:
      return std::nullopt;
  }
}

}  // namespace plimsoll::symbolizer
