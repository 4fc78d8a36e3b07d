#include "capture/unwind/unwind_table.h"

#include <algorithm>
#include <tuple>

#include "capture/unwind/call_frame_entries.h"
#include "capture/unwind/table_compiler.h"

namespace plimsoll::unwind {
namespace {

// Sorted by address; of those that begin together, the first.
void put_in_order(std::vector<FunctionEntry>& functions) {
  std::ranges::sort(functions, {}, [](const FunctionEntry& function) {
    return std::tuple(function.begin, uint32_t{function.section}, function.program_offset);
  });
  const auto repeated = std::ranges::unique(functions, {}, &FunctionEntry::begin);
  functions.erase(repeated.begin(), repeated.end());
}

// In place of a section: the code where a program begins.
constexpr uint32_t kEntryPoint = UINT8_MAX;

// Adds the code at the entry point where no entry speaks of it.
void add_entry_point(uint64_t address, std::vector<FunctionEntry>& functions) {
  constexpr uint32_t kStartBytes = 64;  // it sets the stack up and calls the first function
  const auto after = std::ranges::upper_bound(functions, address, {}, &FunctionEntry::begin);
  const bool is_covered =
      after != functions.begin() && address - std::prev(after)->begin < std::prev(after)->size_bytes;
  if (address != 0 && !is_covered && address <= UINT64_MAX - kStartBytes) {
    functions.insert(after, {.begin = address, .size_bytes = kStartBytes, .section = kEntryPoint});
  }
}

UnwindRow outermost_row() {
  UnwindRow row{.cfa = {.kind = Rule::Kind::kOffset, .reg = kRsp}};
  row.registers[kRip] = {.kind = Rule::Kind::kUndefined};
  return row;
}

// The last of `count` sorted offsets that is at most `offset`, as an index; -1 where there is none. Without branches: which
// half an address lies in is as good as random, and a wrong guess costs more than the memory.
ptrdiff_t last_not_above(const uint16_t* offsets, size_t count, uint16_t offset) {
  const uint16_t* first = offsets;
  while (count > 1) {
    const size_t half = count / 2;
    first += first[half] <= offset ? half : 0;
    count -= half;
  }
  return count == 1 && *first <= offset ? first - offsets : -1;
}

}  // namespace

Result<UnwindTable> UnwindTable::compile(const std::vector<elf::CallFrames>& sections, uint64_t entry_point,
                                         const Limits& limits) {
  TableCompiler compiler(limits);
  std::vector<CallFrameEntries> readers;
  std::vector<FunctionEntry> functions;
  for (const elf::CallFrames& section : sections) {
    readers.emplace_back(section, static_cast<uint8_t>(readers.size()), compiler.expressions());
    const size_t sound = functions.size();
    if (auto read = readers.back().read(limits.max_functions, functions); !read) {
      if (sound == 0) {
        return propagate(read);
      }
      functions.resize(sound);
    }
  }
  if (functions.empty() && !sections.empty()) {
    return fail(ErrorCode::kCorrupt, "the call frame information has no readable entry");
  }
  put_in_order(functions);
  add_entry_point(entry_point, functions);
  const RowSink add_row = [&](uint64_t begin, const UnwindRow& row) { compiler.add(begin, row); };
  for (size_t i = 0; i < functions.size() && !compiler.is_too_large(); ++i) {
    const FunctionEntry& function = functions[i];
    const uint64_t end = function.begin + function.size_bytes;
    const bool is_followed = i + 1 < functions.size();
    compiler.begin_function(function.begin, is_followed ? std::min(end, functions[i + 1].begin) : end,
                            function.section < sections.size() && sections[function.section].is_go);
    if (function.section == kEntryPoint) {
      compiler.add(function.begin, outermost_row());
      continue;
    }
    const auto program = readers[function.section].program(function);
    if (!program) {
      return propagate(program);
    }
    uint64_t damaged_from = 0;
    if (!run(*program, compiler.expressions(), add_row, damaged_from)) {
      compiler.add_damaged(damaged_from);
    }
  }
  return compiler.finish();
}

size_t UnwindTable::rule_number(size_t row) const {
  return rule_numbers_[row] | (more_of_number_.empty() ? size_t{0} : size_t{more_of_number_[row]} << 16U);
}

const FrameRule& UnwindTable::find(uint64_t address) const {
  const uint64_t number = address >> 16U;
  const auto after = std::ranges::upper_bound(pages_, number, {}, &Page::number);
  if (after == pages_.begin()) {
    return rules_.front();
  }
  const Page& page = *std::prev(after);
  const size_t end = after == pages_.end() ? offsets_.size() : after->first_row;
  size_t row = end - 1;
  if (page.number == number) {
    // Where the page's own rows begin behind the address, the row that holds is the last of an earlier page.
    const ptrdiff_t found = last_not_above(offsets_.data() + page.first_row, end - page.first_row,
                                           static_cast<uint16_t>(address));
    if (found < 0 && page.first_row == 0) {
      return rules_.front();
    }
    row = static_cast<size_t>(static_cast<ptrdiff_t>(page.first_row) + found);
  }
  return rules_[rule_number(row)];
}

UnwindRow UnwindTable::in_full(const FrameRule& rule) const {
  if (rule.kind == FrameRule::Kind::kGeneric) {
    return generic_row(rule);
  }
  UnwindRow row;
  row.cfa = {.kind = Rule::Kind::kOffset, .reg = rule.cfa_register, .offset = rule.cfa_offset};
  row.registers[kRip] = {.kind = Rule::Kind::kAtOffset, .offset = -int64_t{sizeof(uint64_t)}};
  for (size_t i = 0; i < kCalleeSaved.size(); ++i) {
    if ((rule.saved >> i & 1U) != 0) {
      row.registers[kCalleeSaved[i]] = {.kind = Rule::Kind::kAtOffset, .offset = rule.saved_offset[i]};
    }
  }
  return row;
}

size_t UnwindTable::memory_bytes() const {
  return pages_.size() * sizeof(Page) + offsets_.size() * sizeof(uint16_t) +
         rule_numbers_.size() * sizeof(uint16_t) + more_of_number_.size() +
         rules_.size() * sizeof(FrameRule) + generic_rows_.size() * sizeof(UnwindRow) + expressions_.size();
}

}  // namespace plimsoll::unwind
