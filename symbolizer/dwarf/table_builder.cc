#include "symbolizer/dwarf/table_builder.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <optional>

#include "elf/module_layout.h"
#include "symbolizer/dwarf/merged_code.h"
#include "symbolizer/dwarf/row_writer.h"
#include "symbolizer/dwarf/sections.h"
#include "symbolizer/dwarf/unit_rows.h"
#include "symbolizer/dwarf/unit_set.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxDecompressedBytes = uint64_t{4} << 30;
// Units may all refer to the same rows: one alone may not take what there is for all.
constexpr CodeBudget kBudgetOfUnit{.range_entries = 10'000'000, .line_rows = 20'000'000};
// The first tell what is wrong.
constexpr size_t kMaxProblems = 20;

// How many bytes it names a function of, and how many a line of.
uint64_t described_bytes(const UnitRows& code) {
  uint64_t bytes = 0;
  for (size_t i = 0; i + 1 < code.rows.size(); ++i) {
    const CodeRow& row = code.rows[i];
    const uint64_t length = code.rows[i + 1].from - row.from;
    bytes += (row.scope == kNoScope ? 0 : length) + (row.line == kNoLine ? 0 : length);
  }
  return bytes;
}

class TableBuilder {
 public:
  explicit TableBuilder(const TableInputs& inputs)
      : inputs_(inputs), split_(inputs.find_split, kMaxDecompressedBytes) {}

  BuiltTable build();

 private:
  Status open_files();
  Status open_supplement();
  void open_package();
  void add_code_segments(const std::vector<elf::Segment>& segments);
  void read_dwarf();
  void read_units();
  SecondReader* second();
  void read_all_with_second(uint64_t& units);
  void take_over(uint64_t entry, UnitRows& code);
  void take_over_left_out(uint64_t entry);
  void merge(UnitRows& code, uint32_t unit, const UnitSet* units);
  void start_reading(const UnitSet::Member& member);
  void merge_oldest();
  void add_problem(std::string problem);
  void release_dwarf();
  SplitUnits::Found described_by(const UnitSet::Member& member);
  bool is_code(uint64_t address) const;

  const TableInputs& inputs_;
  CodeBudget budget_;
  CodeBudget take_over_budget_;  // apart, so that a damaged unit costs those behind it nothing
  std::optional<DwarfImage> debug_;
  std::optional<DwarfImage> supplement_;
  std::unique_ptr<UnitSet> units_;
  std::unique_ptr<UnitSet> supplement_units_;
  SplitUnits split_;
  uint32_t next_file_ = kLinkedFile + 1;
  std::vector<elf::Segment> code_segments_;
  struct Read {
    UnitRows code;
    CodeBudget used;
  };
  struct Reading {
    const UnitSet::Member* linked;
    SplitUnits::Found described;
    std::future<Read> result;
  };
  std::unique_ptr<SecondReader> second_;
  bool has_opened_second_ = false;
  bool takes_over_ = inputs_.reader == ReaderChoice::kBoth;
  SymtabReaders readers_;
  std::deque<Reading> reading_;  // in the order of the units
  std::vector<std::string> problems_;
  size_t problems_met_ = 0;
  SymtabQuality quality_ = SymtabQuality::kNone;
  SymtabQuality max_quality_ = inputs_.max_quality;
  SymtabWriter writer_;
  MergedCode code_{writer_};
};

Status TableBuilder::open_supplement() {
  if (inputs_.supplement.empty()) {
    return {};
  }
  auto supplement =
      DwarfImage::open(inputs_.supplement, DwarfImage::Kind::kSupplement, kMaxDecompressedBytes);
  if (!supplement) {
    return propagate(supplement, "its supplementary file");
  }
  supplement_ = std::move(*supplement);
  std::string damage;
  supplement_units_ = UnitSet::read(supplement_->sections(), nullptr, nullptr, budget_, damage);
  if (!damage.empty()) {
    add_problem(damage);
  }
  return {};
}

void TableBuilder::open_package() {
  if (inputs_.package.empty()) {
    return;
  }
  if (auto opened = split_.open_package(inputs_.package); !opened) {
    add_problem(opened.error().text());
  }
}

Status TableBuilder::open_files() {
  auto debug = DwarfImage::open(inputs_.debug, DwarfImage::Kind::kMain, kMaxDecompressedBytes);
  if (!debug) {
    return propagate(debug);
  }
  debug_ = std::move(*debug);
  add_code_segments(debug_->file().segments());
  if (auto opened = open_supplement(); !opened) {
    return opened;
  }
  open_package();
  std::string damage;
  units_ = UnitSet::read(debug_->sections(), supplement_ ? &supplement_->sections() : nullptr, nullptr,
                         budget_, damage);
  if (!damage.empty()) {
    add_problem(damage);
  }
  return {};
}

void TableBuilder::add_code_segments(const std::vector<elf::Segment>& segments) {
  std::ranges::copy_if(segments, std::back_inserter(code_segments_),
                       [](const elf::Segment& segment) { return segment.executable; });
}

bool TableBuilder::is_code(uint64_t address) const {
  return std::ranges::any_of(code_segments_, [&](const elf::Segment& segment) {
    return address >= segment.address && address - segment.address < segment.memory_bytes;
  });
}

// The skeleton itself where its other half is not at hand: it may name a function too.
SplitUnits::Found TableBuilder::described_by(const UnitSet::Member& member) {
  if (!member.attributes.dwo_name.empty()) {
    auto found = split_.find(member, *member.unit.sections, budget_);
    if (found) {
      return *found;
    }
    // So that the table is made again once it is there.
    max_quality_ = SymtabQuality::kLines;
    add_problem(found.error().text());
  }
  return {units_.get(), &member};
}

void TableBuilder::start_reading(const UnitSet::Member& member) {
  const SplitUnits::Found described = described_by(member);
  const auto read = [this, &member, described] {
    CodeBudget budget = kBudgetOfUnit;
    UnitRows code =
        read_unit_rows(member, *described.unit, [this](uint64_t from) { return is_code(from); }, budget);
    return Read{std::move(code), kBudgetOfUnit - budget};
  };
  const auto policy = inputs_.threads > 1 ? std::launch::async : std::launch::deferred;
  reading_.push_back({&member, described, std::async(policy, read)});
}

// Null where there is none, or it cannot read the file.
SecondReader* TableBuilder::second() {
  if (!has_opened_second_ && inputs_.open_second) {
    auto opened = inputs_.open_second();
    if (opened) {
      second_ = std::move(*opened);
    } else {
      add_problem(opened.error().text());
    }
  }
  has_opened_second_ = true;
  return second_.get();
}

// Replaces what our reader has found in a unit where the second finds more.
void TableBuilder::take_over(uint64_t entry, UnitRows& code) {
  SecondReader* const reader = takes_over_ ? second() : nullptr;
  if (reader == nullptr) {
    return;
  }
  const auto unit = std::ranges::lower_bound(reader->units(), entry, {}, &SecondReader::Unit::entry);
  if (unit == reader->units().end() || unit->entry != entry) {
    return;
  }
  CodeBudget budget = kBudgetOfUnit;
  UnitRows found = reader->read(*unit, [this](uint64_t from) { return is_code(from); }, budget);
  if (!take_over_budget_.take(kBudgetOfUnit - budget)) {
    takes_over_ = false;
    add_problem("damaged units describe more code than can be: the rest of them is not read a second time");
    return;
  }
  if (described_bytes(found) > described_bytes(code)) {
    found.problems.insert(found.problems.begin(), code.problems.begin(), code.problems.end());
    code = std::move(found);
    ++readers_.damaged;
  }
}

void TableBuilder::take_over_left_out(uint64_t entry) {
  UnitRows code;
  take_over(entry, code);
  if (code.rows.empty()) {
    return;
  }
  const auto unit = std::ranges::lower_bound(second_->units(), entry, {}, &SecondReader::Unit::entry);
  merge(code, writer_.unit(unit->producer, unit->language), units_.get());
}

void TableBuilder::read_all_with_second(uint64_t& units) {
  SecondReader* const reader = second();
  if (reader == nullptr) {
    return;
  }
  for (const SecondReader::Unit& unit : reader->units()) {
    CodeBudget budget = kBudgetOfUnit;
    UnitRows code = reader->read(unit, [this](uint64_t from) { return is_code(from); }, budget);
    if (!budget_.take(kBudgetOfUnit - budget)) {
      add_problem("it describes more code than can be: the rest is left out");
      break;
    }
    ++units;
    merge(code, writer_.unit(unit.producer, unit.language), nullptr);
  }
  for (const UnitNames& names : reader->supplement_names()) {
    code_.add_names(names, kSupplementFile);
  }
  code_.sort();
}

// `units`: that the unit is one of; null: the second reader has read it, and its names.
void TableBuilder::merge(UnitRows& code, uint32_t unit, const UnitSet* units) {
  std::ranges::for_each(code.problems, [this](std::string& problem) { add_problem(std::move(problem)); });
  quality_ = std::max(quality_, !code.scopes.empty() ? SymtabQuality::kFull
                                : !code.rows.empty() ? SymtabQuality::kLines
                                                     : SymtabQuality::kNone);
  code_.add(code, {.unit = unit,
                   .file = units == units_.get() ? kLinkedFile : next_file_++,
                   .find_unit = [this, units](uint64_t offset, bool in_supplement) {
                     const UnitSet* const set = in_supplement ? supplement_units_.get() : units;
                     return set == nullptr ? nullptr : set->find(offset);
                   }});
}

void TableBuilder::merge_oldest() {
  const UnitSet::Member* const linked = reading_.front().linked;
  const SplitUnits::Found described = reading_.front().described;
  Read read = reading_.front().result.get();
  reading_.pop_front();
  if (!budget_.take(read.used)) {
    add_problem("it describes more code than can be: the rest is left out");
    return;
  }
  // Of split DWARF the second reader would read the skeleton alone.
  if (read.code.is_damaged && described.unit == linked) {
    take_over(linked->header.entries_begin, read.code);
  }
  const UnitAttributes& said = described.unit->attributes;
  merge(read.code, writer_.unit(said.producer, said.language), described.units);
}

// Units are read side by side and merged in their order: the bytes do not depend on the number of threads.
void TableBuilder::read_units() {
  const auto merge_all = [this] {
    while (!reading_.empty()) {
      merge_oldest();
    }
  };
  const std::vector<uint64_t>& left_out = units_->left_out();
  auto next = left_out.begin();
  for (const UnitSet::Member& member : units_->members()) {
    for (; next != left_out.end() && *next < member.header.entries_begin; ++next) {
      merge_all();
      take_over_left_out(*next);
    }
    start_reading(member);
    if (reading_.size() >= inputs_.threads) {
      merge_oldest();
    }
  }
  merge_all();
  std::for_each(next, left_out.end(), [this](uint64_t entry) { take_over_left_out(entry); });
}

void TableBuilder::read_dwarf() {
  const auto file = elf::ElfFile::parse(inputs_.debug);
  const bool is_module = file && file->type() == ET_REL;
  const bool is_for_second =
      inputs_.reader == ReaderChoice::kSecondAlone || (is_module && inputs_.reader == ReaderChoice::kBoth);
  if (file && is_for_second && inputs_.open_second) {
    add_code_segments(file->segments());
    if (is_module) {
      code_segments_.push_back({.type = PT_LOAD,
                                .executable = true,
                                .file_offset = 0,
                                .file_bytes = 0,
                                .address = 0,
                                .memory_bytes = elf::ModuleLayout(*file).end()});
    }
    read_all_with_second(is_module ? readers_.relocatable : readers_.asked);
    return;
  }
  if (auto opened = open_files(); !opened) {
    add_problem(opened.error().text());
    return;
  }
  read_units();
  if (supplement_units_ != nullptr) {
    for (const UnitSet::Member& member : supplement_units_->members()) {
      code_.add_names(read_unit_code(member.unit, budget_).names, kSupplementFile);
    }
  }
  code_.sort();
}

void TableBuilder::add_problem(std::string problem) {
  if (++problems_met_ <= kMaxProblems) {
    problems_.push_back(std::move(problem));
  }
}

// The writer has copied what it needs: what the sections take may go before it makes the file.
void TableBuilder::release_dwarf() {
  code_.clear();
  second_.reset();
  units_.reset();
  supplement_units_.reset();
  split_ = SplitUnits({}, 0);
  debug_.reset();
  supplement_.reset();
}

BuiltTable TableBuilder::build() {
  quality_ = inputs_.symbol_quality;
  add_code_segments(inputs_.segments);
  if (!inputs_.debug.empty()) {
    read_dwarf();
  }
  RowWriter(code_, SymbolCursor(inputs_.symbols, inputs_.sections), writer_).write();
  release_dwarf();
  for (const elf::Segment& segment : inputs_.segments) {
    if (segment.executable) {
      writer_.segment({segment.file_offset, segment.address, segment.file_bytes});
    }
  }
  writer_.readers(readers_);
  writer_.kernel_text(inputs_.kernel_text);
  if (problems_met_ > kMaxProblems) {
    problems_.push_back(fmt::format("and {} more like these", problems_met_ - kMaxProblems));
  }
  quality_ = std::min(quality_, max_quality_);
  return BuiltTable{std::move(writer_).finish(inputs_.identity, quality_), quality_, std::move(problems_)};
}

}  // namespace

BuiltTable build_table(const TableInputs& inputs) {
  return TableBuilder(inputs).build();
}

}  // namespace plimsoll::symbolizer
