#include "symbolizer/dwarf/unit_code.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>
#include <span>

namespace plimsoll::symbolizer {
namespace {

using Kind = AttributeValue::Kind;

// Compilers nest what they inline some dozens deep.
constexpr size_t kMaxEntryDepth = 1000;
// DW_AT_GNU_discriminator, which elfutils' <dwarf.h> lacks.
constexpr uint16_t kGnuDiscriminator = 0x2136;

// What a function's or an inlined call's entry says of its code.
struct CodeAttributes {
  AttributeValue low_pc;
  AttributeValue high_pc;
  AttributeValue ranges;
  AttributeValue origin;
  CodeScope call;
  bool has_linkage_name = false;
  bool is_declaration = false;
};

uint32_t small(const AttributeValue& value) {
  return value.kind == Kind::kConstant ? static_cast<uint32_t>(std::min<uint64_t>(value.value, UINT32_MAX))
                                       : 0;
}

void take(uint16_t name, const AttributeValue& value, CodeAttributes& code) {
  switch (name) {
    case DW_AT_low_pc:
      code.low_pc = value;
      break;
    case DW_AT_high_pc:
      code.high_pc = value;
      break;
    case DW_AT_ranges:
      code.ranges = value;
      break;
    case DW_AT_abstract_origin:
      code.origin = value;
      break;
    case DW_AT_call_file:
      code.call.call_file = small(value);
      break;
    case DW_AT_call_line:
      code.call.call_line = small(value);
      break;
    case DW_AT_call_column:
      code.call.call_column = small(value);
      break;
    case kGnuDiscriminator:
      code.call.call_discriminator = small(value);
      break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
      code.has_linkage_name = true;
      break;
    case DW_AT_declaration:
      code.is_declaration = value.value != 0;
      break;
    default:
      break;
  }
}

std::optional<AddressRange> contiguous_range(const AttributeValue& low, const AttributeValue& high,
                                             const Unit& unit) {
  const auto from = address_of(low, unit);
  if (!from) {
    return std::nullopt;
  }
  // A constant is the size (DWARF 4, 2.17.2).
  const auto to = high.kind == Kind::kConstant ? std::optional(*from + high.value) : address_of(high, unit);
  return to && *from < *to ? std::optional(AddressRange{*from, *to}) : std::nullopt;
}

bool is_code(uint16_t tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

class CodeReader {
 public:
  CodeReader(const Unit& unit, CodeBudget& budget)
      : unit_(unit),
        budget_(budget),
        reader_(unit.sections->info.first(unit.header->end)),
        declarations_(unit) {}

  UnitCode read();

 private:
  // An entry around the one that is read.
  struct Open {
    uint32_t scope = kNoScope;       // that code there belongs to
    uint32_t name_scope = kNoScope;  // of declarations_, once a function was met in it
    uint64_t entry = 0;
    uint16_t tag = 0;
  };
  Open current() const { return open_.empty() ? Open() : open_.back(); }
  void read_entry(const Abbreviation& abbreviation, uint64_t offset);
  uint32_t add_scope(const CodeAttributes& code, uint64_t offset, bool is_inlined);
  void add_ranges(const CodeAttributes& code, uint32_t scope);

  const Unit& unit_;
  CodeBudget& budget_;
  ByteReader reader_;
  std::vector<Open> open_;
  std::vector<AddressRange> found_;  // of one entry; here so that it is allocated once
  Declarations declarations_;
  UnitCode code_;
};

UnitCode CodeReader::read() {
  reader_.seek(unit_.header->entries_begin);
  do {
    const uint64_t offset = reader_.offset();
    const uint64_t number = reader_.uleb128();
    if (number == 0) {
      if (!open_.empty()) {
        open_.pop_back();
      }
      continue;
    }
    const Abbreviation* const abbreviation = unit_.abbreviations->find(number);
    if (!reader_.ok() || abbreviation == nullptr || open_.size() > kMaxEntryDepth) {
      code_.damage = fmt::format("the entry at offset {:#x} of .debug_info cannot be read", offset);
      break;
    }
    read_entry(*abbreviation, offset);
  } while (!open_.empty() && reader_.ok() && reader_.remaining() > 0);
  if (!reader_.ok() && code_.damage.empty()) {
    code_.damage = fmt::format("the unit at offset {:#x} of .debug_info breaks off", unit_.header->offset);
  }
  code_.names = std::move(declarations_).names();
  return std::move(code_);
}

void CodeReader::read_entry(const Abbreviation& abbreviation, uint64_t offset) {
  Open within = current();
  if (is_code(abbreviation.tag)) {
    CodeAttributes code;
    for (const AttributeSpec& spec : unit_.abbreviations->attributes_of(abbreviation)) {
      take(spec.name, read_attribute(spec, unit_, reader_), code);
    }
    if (!reader_.ok()) {
      return;
    }
    const bool is_inlined = abbreviation.tag == DW_TAG_inlined_subroutine;
    if (!is_inlined) {
      declarations_.add_function(offset, declarations_.declaring_scope(std::span(open_)),
                                 code.has_linkage_name);
    }
    if (!code.is_declaration) {
      within.scope = add_scope(code, offset, is_inlined);
    }
  } else {
    skip_attributes(abbreviation, unit_, reader_);
  }
  if (abbreviation.has_children) {
    within.entry = offset;
    within.tag = abbreviation.tag;
    within.name_scope = kNoScope;
    open_.push_back(within);
  }
}

uint32_t CodeReader::add_scope(const CodeAttributes& code, uint64_t offset, bool is_inlined) {
  const size_t ranges_before = code_.ranges.size();
  const auto scope = static_cast<uint32_t>(code_.scopes.size());
  add_ranges(code, scope);
  if (code_.ranges.size() == ranges_before) {
    return current()
        .scope;  // an abstract one, or one that the linker dropped: what is within has no code either
  }
  CodeScope added = code.call;
  added.parent = is_inlined ? current().scope : kNoScope;
  // What an inlined call says of the function is all at its origin.
  added.is_in_supplement = is_inlined && code.origin.kind == Kind::kSupplementReference;
  added.entry = added.is_in_supplement || (is_inlined && code.origin.kind == Kind::kReference)
                    ? code.origin.value
                    : offset;
  code_.scopes.push_back(added);
  return scope;
}

void CodeReader::add_ranges(const CodeAttributes& code, uint32_t scope) {
  found_.clear();
  if (code.ranges.kind != Kind::kNone) {
    if (!read_ranges(code.ranges, unit_, budget_.range_entries, found_) && code_.damage.empty()) {
      code_.damage = fmt::format("the ranges at {:#x} cannot be read", code.ranges.value);
    }
  } else if (const auto range = contiguous_range(code.low_pc, code.high_pc, unit_)) {
    found_.push_back(*range);
  }
  for (const AddressRange& range : found_) {
    code_.ranges.push_back({range.from, range.to, scope});
  }
}

void take(uint16_t name, const AttributeValue& value, UnitAttributes& unit, UnitBases& bases) {
  switch (name) {
    case DW_AT_name:
      unit.name = text_of(value);
      break;
    case DW_AT_comp_dir:
      unit.directory = text_of(value);
      break;
    case DW_AT_producer:
      unit.producer = text_of(value);
      break;
    case DW_AT_language:
      unit.language = small(value);
      break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
      unit.dwo_name = text_of(value);
      break;
    case DW_AT_GNU_dwo_id:
      unit.dwo_id = value.value;
      break;
    case DW_AT_stmt_list:
      unit.has_line_table = true;
      unit.line_table = bases.line + value.value;
      break;
    default:
      break;
  }
}

void take_base(uint16_t name, const AttributeValue& value, UnitBases& bases) {
  switch (name) {
    case DW_AT_str_offsets_base:
      bases.str_offsets = value.value;
      break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
      bases.addr = value.value;
      break;
    case DW_AT_rnglists_base:
      bases.rnglists = value.value;
      break;
    case DW_AT_GNU_ranges_base:
      bases.split_ranges = value.value;
      break;
    default:
      break;
  }
}

// Calls visit(name, value) for the attributes of the unit's own entry, and gives its tag; 0 where it cannot be read.
template <typename Visit>
uint16_t visit_own_entry(const Unit& unit, Visit visit) {
  ByteReader reader(unit.sections->info.first(unit.header->end));
  reader.seek(unit.header->entries_begin);
  const Abbreviation* const abbreviation = unit.abbreviations->find(reader.uleb128());
  if (!reader.ok() || abbreviation == nullptr) {
    return 0;
  }
  for (const AttributeSpec& spec : unit.abbreviations->attributes_of(*abbreviation)) {
    visit(spec.name, read_attribute(spec, unit, reader));
  }
  return reader.ok() ? abbreviation->tag : 0;
}

}  // namespace

Result<UnitAttributes> read_unit_attributes(Unit& unit, CodeBudget& budget) {
  // Bases first: other attributes may stand before those that they need.
  const uint16_t tag = visit_own_entry(
      unit, [&](uint16_t name, const AttributeValue& value) { take_base(name, value, unit.bases); });
  if (tag == 0) {
    return fail(ErrorCode::kCorrupt, "the unit at offset {:#x} of .debug_info cannot be read",
                unit.header->offset);
  }
  UnitAttributes attributes;
  attributes.tag = tag;
  attributes.dwo_id = unit.header->dwo_id;
  CodeAttributes code;
  visit_own_entry(unit, [&](uint16_t name, const AttributeValue& value) {
    take(name, value, attributes, unit.bases);
    take(name, value, code);
  });
  unit.low_pc = address_of(code.low_pc, unit).value_or(0);
  if (code.ranges.kind != Kind::kNone) {
    read_ranges(code.ranges, unit, budget.range_entries, attributes.ranges);
  } else if (const auto range = contiguous_range(code.low_pc, code.high_pc, unit)) {
    attributes.ranges.push_back(*range);
    attributes.tells_one_range = true;
  }
  return attributes;
}

UnitCode read_unit_code(const Unit& unit, CodeBudget& budget) {
  return CodeReader(unit, budget).read();
}

}  // namespace plimsoll::symbolizer
