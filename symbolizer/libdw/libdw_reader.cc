#include "symbolizer/libdw/libdw_reader.h"

#include <dwarf.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "symbolizer/dwarf/flatten.h"
#include "symbolizer/dwarf/unit_code.h"
#include "symbolizer/libdw/dwarf_file.h"
#include "symbolizer/libdw/entry_values.h"
#include "symbolizer/libdw/unit_entries.h"
#include "symbolizer/libdw/unit_lines.h"

namespace plimsoll::symbolizer {
namespace {

// libdw takes about 50 bytes for each.
constexpr uint64_t kMaxKeptRows = 1'000'000;

struct FoundUnits {
  std::vector<SecondReader::Unit> units;
  std::string damage;  // why libdw finds no more; empty: these are all
};

// The units of .debug_info; those of .debug_types, which come behind them, have no code.
FoundUnits units_in(Dwarf* dwarf, const DwarfFile& file) {
  FoundUnits found;
  std::vector<SecondReader::Unit>& units = found.units;
  Dwarf_CU* before = nullptr;
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version = 0;
  uint8_t kind = 0;
  Dwarf_Die entry{};
  // No entry of split DWARF is asked for: libdw would open the file that the unit names.
  int result = 0;
  while ((result = ::dwarf_get_units(dwarf, before, &unit, &version, &kind, &entry, nullptr)) == 0) {
    before = unit;
    const bool is_of_types = version < 5 && kind == DW_UT_type;
    const uint64_t offset = entry.addr == nullptr || is_of_types ? 0 : ::dwarf_dieoffset(&entry);
    if (offset != 0 && (units.empty() || units.back().entry < offset)) {
      units.push_back(
          {offset, text_attribute(entry, DW_AT_producer, file), number_attribute(entry, DW_AT_language)});
    }
  }
  if (result < 0) {
    found.damage =
        fmt::format("libdw: only the first {} units can be read: {}", units.size(), ::dwarf_errmsg(-1));
  }
  return found;
}

// The file with the unit's other half; empty: it is whole.
std::string_view split_name(Dwarf_Die entry, const DwarfFile& file) {
  const std::string_view name = text_attribute(entry, DW_AT_dwo_name, file);
  return name.empty() ? text_attribute(entry, DW_AT_GNU_dwo_name, file) : name;
}

class LibdwReader : public SecondReader {
 public:
  LibdwReader(std::unique_ptr<DwarfFile> file, FoundUnits found)
      : file_(std::move(file)), units_(std::move(found.units)), damage_(std::move(found.damage)) {}

  const std::vector<Unit>& units() const override { return units_; }
  UnitRows read(const Unit& unit, const std::function<bool(uint64_t from)>& is_code,
                CodeBudget& budget) override;
  std::vector<UnitNames> supplement_names() override;

 private:
  void read_lines(Dwarf_Die entry, CodeBudget& budget, UnitRows& result);
  std::vector<AddressRange> ranges_of(Dwarf_Die entry, CodeBudget& budget);
  using Aranges = std::unordered_map<uint64_t, std::vector<AddressRange>>;
  // Read once.
  const Aranges& read_aranges(CodeBudget& budget);

  std::unique_ptr<DwarfFile> file_;
  std::vector<Unit> units_;
  std::string damage_;  // until a unit was read, which says it
  // Of .debug_aranges, by the unit's own entry.
  Aranges aranges_;
  bool has_aranges_ = false;
  uint64_t kept_rows_ = 0;  // that libdw has parsed
};

void LibdwReader::read_lines(Dwarf_Die entry, CodeBudget& budget, UnitRows& result) {
  const int tag = ::dwarf_tag(&entry);
  if ((tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) ||
      ::dwarf_hasattr(&entry, DW_AT_stmt_list) == 0) {
    return;
  }
  const std::string_view directory = text_attribute(entry, DW_AT_comp_dir, *file_);
  const uint64_t rows_before = budget.line_rows;
  auto lines = read_unit_lines(entry, *file_, directory, budget.line_rows);
  // libdw keeps them whether or not they are of use.
  kept_rows_ += rows_before - budget.line_rows;
  if (lines) {
    result.lines = std::move(*lines);
  } else {
    result.problems.push_back(lines.error().text());
  }
}

const LibdwReader::Aranges& LibdwReader::read_aranges(CodeBudget& budget) {
  Dwarf_Aranges* all = nullptr;
  size_t count = 0;
  if (std::exchange(has_aranges_, true) || ::dwarf_getaranges(file_->dwarf(), &all, &count) != 0) {
    return aranges_;
  }
  for (size_t i = 0; i < count && budget.range_entries > 0; ++i) {
    Dwarf_Addr from = 0;
    Dwarf_Word length = 0;
    Dwarf_Off entry = 0;
    if (::dwarf_getarangeinfo(::dwarf_onearange(all, i), &from, &length, &entry) != 0) {
      continue;
    }
    --budget.range_entries;
    if (const auto range = range_of(from, length, *file_)) {
      aranges_[entry].push_back(*range);
    }
  }
  return aranges_;
}

// Where a unit tells but one piece, .debug_aranges may tell others (symbolizer/dwarf/aranges.h).
std::vector<AddressRange> LibdwReader::ranges_of(Dwarf_Die entry, CodeBudget& budget) {
  std::vector<AddressRange> ranges;
  append_ranges(entry, *file_, budget.range_entries, ranges);
  if (ranges.size() != 1 || ::dwarf_hasattr(&entry, DW_AT_ranges) != 0) {
    return ranges;
  }
  const Aranges& aranges = read_aranges(budget);
  if (const auto more = aranges.find(::dwarf_dieoffset(&entry)); more != aranges.end()) {
    ranges.insert(ranges.end(), more->second.begin(), more->second.end());
  }
  return ranges;
}

UnitRows LibdwReader::read(const Unit& unit, const std::function<bool(uint64_t from)>& is_code,
                           CodeBudget& budget) {
  UnitRows result;
  if (!damage_.empty()) {
    result.problems.push_back(std::exchange(damage_, {}));
  }
  if (kept_rows_ > kMaxKeptRows) {
    kept_rows_ = 0;
    if (auto renewed = file_->renew(); !renewed) {
      result.problems.push_back(renewed.error().text());
    }
  }
  Dwarf_Die entry{};
  if (file_->dwarf() == nullptr || ::dwarf_offdie(file_->dwarf(), unit.entry, &entry) == nullptr) {
    result.problems.push_back(fmt::format("libdw: no unit's entry at offset {:#x}", unit.entry));
    return result;
  }
  if (const std::string_view split = split_name(entry, *file_); !split.empty()) {
    result.problems.push_back(fmt::format("libdw: the split DWARF in {} is not read", split));
  }
  read_lines(entry, budget, result);
  EntriesRead entries = read_entries(entry, *file_, budget.range_entries);
  kept_rows_ += entries.entries / 4;
  if (!entries.code.damage.empty()) {
    result.problems.push_back(std::move(entries.code.damage));
  }
  result.scopes = std::move(entries.code.scopes);
  result.scope_names = std::move(entries.names);
  result.names = std::move(entries.code.names);
  const LineTable* const lines = result.lines ? &*result.lines : nullptr;
  result.rows = clip(flatten(std::move(entries.code.ranges), lines, is_code), ranges_of(entry, budget));
  return result;
}

std::vector<UnitNames> LibdwReader::supplement_names() {
  std::vector<UnitNames> names;
  Dwarf* const supplement = file_->supplement();
  if (supplement == nullptr) {
    return names;
  }
  for (const Unit& unit : units_in(supplement, *file_).units) {
    Dwarf_Die entry{};
    uint64_t no_ranges = 0;
    if (::dwarf_offdie(supplement, unit.entry, &entry) != nullptr) {
      names.push_back(read_entries(entry, *file_, no_ranges).code.names);
    }
  }
  return names;
}

}  // namespace

Result<std::unique_ptr<SecondReader>> open_libdw(Bytes debug, Bytes supplement) {
  auto file = DwarfFile::open(debug, supplement);
  if (!file) {
    return propagate(file);
  }
  FoundUnits found = units_in((*file)->dwarf(), **file);
  if (found.units.empty() && !found.damage.empty()) {
    return fail(ErrorCode::kCorrupt, "{}", found.damage);
  }
  return std::make_unique<LibdwReader>(std::move(*file), std::move(found));
}

}  // namespace plimsoll::symbolizer
