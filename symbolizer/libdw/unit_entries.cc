#include "symbolizer/libdw/unit_entries.h"

#include <dwarf.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "symbolizer/dwarf/attributes.h"
#include "symbolizer/dwarf/declarations.h"
#include "symbolizer/libdw/entry_values.h"

namespace plimsoll::symbolizer {
namespace {

// As for our own reader.
constexpr size_t kMaxOpenEntries = 1000;
constexpr uint64_t kMaxEntriesOfUnit = 50'000'000;
// DW_AT_GNU_discriminator, which elfutils' <dwarf.h> lacks.
constexpr unsigned kGnuDiscriminatorAttribute = 0x2136;

// Entries with children among which there is neither code nor what functions are declared in.
bool has_no_code_within(int tag) {
  switch (tag) {
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_formal_parameter:
    case DW_TAG_variable:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
      return true;
    default:
      return false;
  }
}

bool is_function_or_call(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

class EntryWalk {
 public:
  EntryWalk(const DwarfFile& file, uint64_t& range_entries)
      : file_(file),
        range_entries_(range_entries),
        declarations_([this](uint64_t entry) { return named_entry(entry); }) {}

  EntriesRead read(Dwarf_Die unit);

 private:
  // An entry around the one that is read.
  struct Open {
    Dwarf_Die die{};
    uint64_t entry = 0;              // its offset
    uint32_t scope = kNoScope;       // that code there belongs to
    uint32_t name_scope = kNoScope;  // of declarations_, once a function was met in it
    uint16_t tag = 0;
  };

  bool visit(Dwarf_Die entry, Open& opened);
  bool step_in(const Open& opened, Dwarf_Die& next);
  bool step_on(Dwarf_Die& next);
  uint32_t add_scope(Dwarf_Die entry, uint64_t offset, bool is_inlined);
  FunctionName name_of(Dwarf_Die entry) const;
  NamedEntry named_entry(uint64_t offset) const;
  void note_damage(std::string_view what, Dwarf_Die entry, std::string_view why);
  bool is_elsewhere(const Dwarf_Die& entry) const { return ::dwarf_cu_getdwarf(entry.cu) != dwarf_; }

  const DwarfFile& file_;
  uint64_t& range_entries_;
  Dwarf* dwarf_ = nullptr;  // that the unit is of
  uint64_t last_offset_ = 0;
  std::vector<Open> open_;
  Declarations declarations_;
  EntriesRead result_;
};

void EntryWalk::note_damage(std::string_view what, Dwarf_Die entry, std::string_view why) {
  if (result_.code.damage.empty()) {
    result_.code.damage = fmt::format("libdw: {} the entry at offset {:#x} of .debug_info: {}", what,
                                      ::dwarf_dieoffset(&entry), why);
  }
}

NamedEntry EntryWalk::named_entry(uint64_t offset) const {
  Dwarf_Die entry{};
  if (::dwarf_offdie(dwarf_, offset, &entry) == nullptr) {
    return {};
  }
  NamedEntry named{.name = text_attribute(entry, DW_AT_name, file_)};
  for (const unsigned attribute : {DW_AT_specification, DW_AT_abstract_origin}) {
    auto referred = named.refers_to == 0 ? entry_attribute(entry, attribute) : std::nullopt;
    if (referred && !is_elsewhere(*referred)) {
      named.refers_to = ::dwarf_dieoffset(&*referred);
    }
  }
  return named;
}

// As function_name_at() follows them.
FunctionName EntryWalk::name_of(Dwarf_Die entry) const {
  FunctionName name;
  std::optional<Dwarf_Die> next(entry);
  for (int followed = 0; followed < kMaxReferences && next; ++followed) {
    Dwarf_Die at = *next;
    name.home = ::dwarf_dieoffset(&at);
    name.is_home_in_supplement =
        file_.supplement() != nullptr && ::dwarf_cu_getdwarf(at.cu) == file_.supplement();
    if (name.linkage_name.empty()) {
      name.linkage_name = text_attribute(at, DW_AT_linkage_name, file_);
    }
    if (name.linkage_name.empty()) {
      name.linkage_name = text_attribute(at, DW_AT_MIPS_linkage_name, file_);
    }
    name.name = name.name.empty() ? text_attribute(at, DW_AT_name, file_) : name.name;
    name.line = name.line == 0 ? number_attribute(at, DW_AT_decl_line) : name.line;
    next = entry_attribute(at, DW_AT_abstract_origin);
    if (!next) {
      next = entry_attribute(at, DW_AT_specification);
    }
  }
  return name;
}

uint32_t EntryWalk::add_scope(Dwarf_Die entry, uint64_t offset, bool is_inlined) {
  UnitCode& code = result_.code;
  std::vector<AddressRange> found;
  if (!append_ranges(entry, file_, range_entries_, found)) {
    note_damage("the ranges of", entry, range_entries_ == 0 ? "the unit has too many" : ::dwarf_errmsg(-1));
  }
  const uint32_t around = open_.empty() ? kNoScope : open_.back().scope;
  if (found.empty()) {
    return around;  // an abstract one, or one that the linker dropped: what is within has no code either
  }
  const auto scope = static_cast<uint32_t>(code.scopes.size());
  for (const AddressRange& range : found) {
    code.ranges.push_back({range.from, range.to, scope});
  }
  CodeScope added;
  added.parent = is_inlined ? around : kNoScope;
  added.call_file = number_attribute(entry, DW_AT_call_file);
  added.call_line = number_attribute(entry, DW_AT_call_line);
  added.call_column = number_attribute(entry, DW_AT_call_column);
  added.call_discriminator = number_attribute(entry, kGnuDiscriminatorAttribute);
  // What an inlined call says of the function is all at its origin.
  auto origin = is_inlined ? entry_attribute(entry, DW_AT_abstract_origin) : std::nullopt;
  added.entry = origin ? ::dwarf_dieoffset(&*origin) : offset;
  added.is_in_supplement = origin && is_elsewhere(*origin);
  code.scopes.push_back(added);
  result_.names.push_back(name_of(origin.value_or(entry)));
  return scope;
}

// Sets what holds within the entry. False where it is not before what has been read: damaged references could lead in a circle.
bool EntryWalk::visit(Dwarf_Die entry, Open& opened) {
  const uint64_t offset = ::dwarf_dieoffset(&entry);
  if (offset <= last_offset_) {
    note_damage("going on at", entry, "it is not behind the entry before");
    return false;
  }
  if (++result_.entries > kMaxEntriesOfUnit) {
    note_damage("going on at", entry, "the unit has too many entries");
    return false;
  }
  last_offset_ = offset;
  const int tag = ::dwarf_tag(&entry);
  opened = {.die = entry,
            .entry = offset,
            .scope = open_.empty() ? kNoScope : open_.back().scope,
            .name_scope = kNoScope,
            .tag = static_cast<uint16_t>(tag)};
  if (!is_function_or_call(tag)) {
    return true;
  }
  const bool is_inlined = tag == DW_TAG_inlined_subroutine;
  if (!is_inlined) {
    Dwarf_Attribute attribute{};
    const bool is_linked = ::dwarf_attr(&entry, DW_AT_linkage_name, &attribute) != nullptr ||
                           ::dwarf_attr(&entry, DW_AT_MIPS_linkage_name, &attribute) != nullptr;
    declarations_.add_function(offset, declarations_.declaring_scope(std::span(open_)), is_linked);
  }
  if (!flag_attribute(entry, DW_AT_declaration)) {
    opened.scope = add_scope(entry, offset, is_inlined);
  }
  return true;
}

// To the first entry within.
bool EntryWalk::step_in(const Open& opened, Dwarf_Die& next) {
  if (has_no_code_within(opened.tag)) {
    return false;
  }
  Dwarf_Die entry = opened.die;
  const int found = ::dwarf_child(&entry, &next);
  if (found < 0) {
    note_damage("what is within", entry, ::dwarf_errmsg(-1));
  }
  if (found != 0) {
    return false;
  }
  if (open_.size() >= kMaxOpenEntries) {
    note_damage("what is within", entry, "entries are nested too deep");
    return false;
  }
  open_.push_back(opened);
  return true;
}

// To the entry behind `next`, or behind those around it. False at the unit's end.
bool EntryWalk::step_on(Dwarf_Die& next) {
  while (!open_.empty()) {
    Dwarf_Die behind{};
    const int found = ::dwarf_siblingof(&next, &behind);
    if (found == 0) {
      next = behind;
      return true;
    }
    if (found < 0) {
      note_damage("what is behind", next, ::dwarf_errmsg(-1));
    }
    next = open_.back().die;
    open_.pop_back();
  }
  return false;
}

EntriesRead EntryWalk::read(Dwarf_Die unit) {
  dwarf_ = ::dwarf_cu_getdwarf(unit.cu);
  last_offset_ = ::dwarf_dieoffset(&unit);
  Open opened{.die = unit, .entry = last_offset_, .scope = kNoScope, .name_scope = kNoScope, .tag = 0};
  opened.tag = static_cast<uint16_t>(::dwarf_tag(&unit));
  Dwarf_Die at{};
  bool goes_on = step_in(opened, at);
  while (goes_on && visit(at, opened)) {
    Dwarf_Die within{};
    if (step_in(opened, within)) {
      at = within;
    } else {
      goes_on = step_on(at);
    }
  }
  result_.code.names = std::move(declarations_).names();
  return std::move(result_);
}

}  // namespace

EntriesRead read_entries(Dwarf_Die unit, const DwarfFile& file, uint64_t& range_entries) {
  return EntryWalk(file, range_entries).read(unit);
}

}  // namespace plimsoll::symbolizer
