#include "symbolizer/dwarf/abbreviations.h"

#include <dwarf.h>

#include <algorithm>

namespace plimsoll::symbolizer {
namespace {

// What a value of the form adds to the length of its entry.
void add_length(uint64_t form, FixedLength& length) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      break;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      length.bytes += 1;
      break;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      length.bytes += 2;
      break;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
      length.bytes += 4;
      break;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      length.bytes += 8;
      break;
    case DW_FORM_addr:
      ++length.addresses;
      break;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      ++length.offsets;
      break;
    default:
      length.is_fixed = false;
  }
}

// Names of attributes and forms have 16 bits at most; what has more is nobody's.
bool is_name(uint64_t number) {
  return number <= UINT16_MAX;
}

}  // namespace

Result<AbbreviationTable> AbbreviationTable::read(Bytes section, uint64_t offset) {
  ByteReader reader(section);
  reader.seek(offset);
  AbbreviationTable table;
  for (uint64_t code = reader.uleb128(); reader.ok() && code != 0; code = reader.uleb128()) {
    if (auto read = table.read_one(code, reader); !read) {
      return propagate(read, "the abbreviations at offset {:#x}", offset);
    }
  }
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "the abbreviations at offset {:#x} are cut off", offset);
  }
  std::ranges::sort(table.rare_, {}, &Rare::code);
  return table;
}

Status AbbreviationTable::read_one(uint64_t code, ByteReader& reader) {
  Abbreviation abbreviation;
  const uint64_t tag = reader.uleb128();
  abbreviation.has_children = reader.read<uint8_t>() == DW_CHILDREN_yes;
  abbreviation.first_attribute = static_cast<uint32_t>(attributes_.size());
  for (;;) {
    const uint64_t name = reader.uleb128();
    const uint64_t form = reader.uleb128();
    if (!reader.ok() || !is_name(name) || !is_name(form) || !is_name(tag) || tag == 0) {
      return fail(ErrorCode::kCorrupt, "abbreviation {} is damaged", code);
    }
    if (name == 0 && form == 0) {
      break;
    }
    const int64_t implicit = form == DW_FORM_implicit_const ? reader.sleb128() : 0;
    add_length(form, abbreviation.length);
    attributes_.push_back({static_cast<uint16_t>(name), static_cast<uint16_t>(form), implicit});
  }
  abbreviation.tag = static_cast<uint16_t>(tag);
  // Nobody has so many, and sums of more might not fit.
  constexpr size_t kMaxFixed = 200;
  if (attributes_.size() - abbreviation.first_attribute > kMaxFixed) {
    abbreviation.length.is_fixed = false;
  }
  abbreviation.attributes = static_cast<uint32_t>(attributes_.size()) - abbreviation.first_attribute;
  // Codes that follow one another need no search.
  if (code == by_code_.size() || (by_code_.empty() && code == 1)) {
    by_code_.resize(code);
    by_code_.push_back(abbreviation);
  } else {
    rare_.push_back({code, abbreviation});
  }
  return {};
}

const Abbreviation* AbbreviationTable::find_rare(uint64_t code) const {
  const auto found = std::ranges::lower_bound(rare_, code, {}, &Rare::code);
  return found != rare_.end() && found->code == code ? &found->abbreviation : nullptr;
}

}  // namespace plimsoll::symbolizer
