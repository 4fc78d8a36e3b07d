#include "symbolizer/dwarf/function_names.h"

#include <dwarf.h>

#include <algorithm>

namespace plimsoll::symbolizer {
namespace {

using Kind = AttributeValue::Kind;

struct Reference {
  Kind kind = Kind::kNone;
  uint64_t offset = 0;
};

// Takes what the entry says of the name where nothing is known yet; gives the entries that may say more.
void read_entry(uint64_t offset, const Unit& unit, FunctionName& name, Reference& origin,
                Reference& specification) {
  ByteReader reader(unit.sections->info.first(unit.header->end));
  reader.seek(offset);
  const Abbreviation* const abbreviation = unit.abbreviations->find(reader.uleb128());
  if (!reader.ok() || abbreviation == nullptr) {
    return;
  }
  for (const AttributeSpec& spec : unit.abbreviations->attributes_of(*abbreviation)) {
    const AttributeValue value = read_attribute(spec, unit, reader);
    switch (spec.name) {
      case DW_AT_linkage_name:
      case DW_AT_MIPS_linkage_name:
        name.linkage_name = name.linkage_name.empty() ? text_of(value) : name.linkage_name;
        break;
      case DW_AT_name:
        name.name = name.name.empty() ? text_of(value) : name.name;
        break;
      case DW_AT_decl_line:
        if (name.line == 0 && value.kind == Kind::kConstant) {
          name.line = static_cast<uint32_t>(std::min<uint64_t>(value.value, UINT32_MAX));
        }
        break;
      case DW_AT_abstract_origin:
        origin = {value.kind, value.value};
        break;
      case DW_AT_specification:
        specification = {value.kind, value.value};
        break;
      default:
        break;
    }
  }
}

}  // namespace

FunctionName function_name_at(uint64_t entry, bool in_supplement, const FindUnit& find_unit) {
  FunctionName name;
  Reference next{Kind::kReference, entry};
  for (int followed = 0; followed < kMaxReferences && next.kind != Kind::kNone; ++followed) {
    in_supplement = in_supplement || next.kind == Kind::kSupplementReference;
    name.home = next.offset;
    name.is_home_in_supplement = in_supplement;
    const Unit* const unit = find_unit(next.offset, in_supplement);
    Reference origin;
    Reference specification;
    if (unit != nullptr) {
      read_entry(next.offset, *unit, name, origin, specification);
    }
    next = origin.kind != Kind::kNone ? origin : specification;
  }
  return name;
}

}  // namespace plimsoll::symbolizer
