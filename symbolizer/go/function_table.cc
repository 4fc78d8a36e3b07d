#include "symbolizer/go/function_table.h"

#include <algorithm>
#include <array>

namespace plimsoll::symbolizer {
namespace {

constexpr uint32_t kMagicSince118 = 0xfffffff0;                          // Go 1.18
constexpr uint32_t kMagicSince120 = 0xfffffff1;                          // Go 1.20
constexpr std::array<uint32_t, 2> kOlderMagics{0xfffffffb, 0xfffffffa};  // Go 1.2, Go 1.16
constexpr uint32_t kNone = UINT32_MAX;

// Numbers of tables in a function's description (PCDATA_InlTreeIndex, FUNCDATA_InlTree).
constexpr uint32_t kInlinedCalls = 2;
constexpr uint32_t kCallTree = 3;

std::string_view name_at(Bytes names, uint64_t offset) {
  ByteReader reader(names);
  reader.seek(offset);
  const std::string_view name = reader.c_string();
  return reader.ok() ? name : std::string_view();
}

// Programs for any address have the table among the data that the loader relocates.
const elf::Section* table_section(const elf::ElfFile& file) {
  for (const std::string_view name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const auto found = std::ranges::find(file.sections(), name, &elf::Section::name);
    if (found != file.sections().end()) {
      return &*found;
    }
  }
  return nullptr;
}

// The loaded bytes from `address` to the end of their segment; empty: there are none in the file.
Bytes bytes_at(const elf::ElfFile& file, uint64_t address) {
  for (const elf::Section& section : file.sections()) {
    if (section.address != 0 && address >= section.address &&
        address - section.address < section.size_bytes) {
      const Bytes bytes = file.section_bytes(section.name);
      const uint64_t offset = address - section.address;
      return offset < bytes.size() ? bytes.subspan(offset) : Bytes();
    }
  }
  return {};
}

}  // namespace

GoValues::GoValues(Bytes values, uint32_t offset, uint64_t from, uint32_t instruction_bytes)
    : reader_(values), instruction_bytes_(instruction_bytes), end_(from) {
  if (offset == 0) {
    end_ = UINT64_MAX;  // no values at all
  }
  reader_.seek(offset);
}

int32_t GoValues::at(uint64_t address, uint64_t& steps) {
  while (end_ <= address) {
    if (steps == 0 || !advance()) {
      value_ = -1;
      end_ = UINT64_MAX;
      break;
    }
    --steps;
  }
  return value_ < 0 || value_ > INT32_MAX ? -1 : static_cast<int32_t>(value_);
}

// A difference of values, zigzag-coded, then how many instructions it holds for. A difference of 0 ends them, but for the first.
bool GoValues::advance() {
  const uint64_t coded = reader_.uleb128();
  if (!reader_.ok() || (coded == 0 && !is_first_)) {
    return false;
  }
  is_first_ = false;
  const uint64_t instructions = reader_.uleb128();
  const auto difference = static_cast<int64_t>(coded >> 1U) ^ -static_cast<int64_t>(coded & 1U);
  if (!reader_.ok() || instructions > UINT32_MAX || __builtin_add_overflow(value_, difference, &value_)) {
    return false;
  }
  end_ += instructions * instruction_bytes_;
  return true;
}

Result<std::optional<GoFunctionTable>> GoFunctionTable::find(const elf::ElfFile& file) {
  const elf::Section* const section = table_section(file);
  if (section == nullptr) {
    return std::nullopt;
  }
  GoFunctionTable table(file);
  if (auto read = table.read_header(file.section_bytes(section->name), section->address); !read) {
    return propagate(read, "its table of functions ({})", section->name);
  }
  return table;
}

Status GoFunctionTable::read_header(Bytes table, uint64_t table_address) {
  bytes_ = table.size();
  ByteReader reader(table);
  const auto magic = reader.read<uint32_t>();
  if (std::ranges::find(kOlderMagics, magic) != kOlderMagics.end()) {
    return fail(ErrorCode::kInvalid, "is in the format of Go before 1.18, which is not read");
  }
  reader.skip(2);
  instruction_bytes_ = reader.read<uint8_t>();
  const auto pointer_bytes = reader.read<uint8_t>();
  if (!reader.ok() || (magic != kMagicSince118 && magic != kMagicSince120) || pointer_bytes != 8) {
    return fail(ErrorCode::kCorrupt, "does not begin as one");
  }
  has_start_lines_ = magic == kMagicSince120;
  functions_ = reader.read<uint64_t>();
  reader.skip(8);  // how many files
  code_address_ = reader.read<uint64_t>();
  // Where its parts begin, in their order.
  std::array<uint64_t, 6> parts{};
  for (size_t i = 0; i < 5; ++i) {
    parts[i] = reader.read<uint64_t>();
  }
  parts[5] = table.size();
  if (!reader.ok() || !std::ranges::is_sorted(parts)) {
    return fail(ErrorCode::kCorrupt, "names parts that lie outside of it");
  }
  const auto part = [&](size_t i) { return table.subspan(parts[i], parts[i + 1] - parts[i]); };
  names_ = part(0);
  units_ = part(1);
  files_ = part(2);
  values_ = part(3);
  entries_ = part(4);
  constexpr uint64_t kEntryBytes = 8;
  if (functions_ >= entries_.size() / kEntryBytes) {
    return fail(ErrorCode::kCorrupt, "has {} functions in {} bytes", functions_, entries_.size());
  }
  if (code_address_ == 0) {
    // The loader fills it in. Without code in C the section begins with Go's.
    const auto text = std::ranges::find(file_->sections(), ".text", &elf::Section::name);
    code_address_ = text == file_->sections().end() ? 0 : text->address;
  }
  find_call_trees(table_address, parts[0]);
  return {};
}

// The runtime finds them by a structure (moduledata) that begins with the addresses of the table and of its names, and has
// the address that call trees are relative to at its 39th word; Go 1.20 and later have two more before it.
void GoFunctionTable::find_call_trees(uint64_t table_address, uint64_t names_offset) {
  constexpr size_t kWordBytes = 8;
  const size_t word = has_start_lines_ ? 40 : 38;
  for (const std::string_view name : {".noptrdata", ".data", ".go.module", ".data.rel.ro"}) {
    const Bytes data = file_->section_bytes(name);
    for (size_t offset = 0; offset + (word + 1) * kWordBytes <= data.size(); offset += kWordBytes) {
      ByteReader reader(data.subspan(offset));
      if (reader.read<uint64_t>() == table_address &&
          reader.read<uint64_t>() == table_address + names_offset) {
        reader.seek(word * kWordBytes);
        trees_ = bytes_at(*file_, reader.read<uint64_t>());
        return;
      }
    }
  }
}

std::optional<GoFunction> GoFunctionTable::function(uint64_t number) const {
  constexpr uint64_t kEntryBytes = 8;
  ByteReader reader(entries_);
  reader.seek(number * kEntryBytes);
  GoFunction function;
  function.from = code_address_ + reader.read<uint32_t>();
  const auto description = reader.read<uint32_t>();
  function.to = code_address_ + reader.read<uint32_t>();
  reader.seek(description);
  reader.skip(4);  // where it begins, once more
  const auto name = reader.read<uint32_t>();
  reader.skip(12);  // arguments, deferred calls, stack pointers
  function.files = reader.read<uint32_t>();
  function.lines = reader.read<uint32_t>();
  const auto value_tables = reader.read<uint32_t>();
  function.unit = reader.read<uint32_t>();
  function.start_line = has_start_lines_ ? reader.read<uint32_t>() : 0;
  reader.skip(3);
  const auto data_tables = reader.read<uint8_t>();
  const size_t tables = reader.offset();
  if (value_tables > kInlinedCalls) {
    reader.seek(tables + uint64_t{4} * kInlinedCalls);
    function.inlined_calls = reader.read<uint32_t>();
  }
  if (data_tables > kCallTree) {
    reader.seek(tables + uint64_t{4} * value_tables + uint64_t{4} * kCallTree);
    const auto tree = reader.read<uint32_t>();
    function.call_tree = tree == kNone ? std::nullopt : std::optional(tree);
  }
  function.name = name_at(names_, name);
  return reader.ok() && function.from < function.to ? std::optional(function) : std::nullopt;
}

std::string_view GoFunctionTable::file_name(const GoFunction& function, int32_t number) const {
  if (number < 0 || function.unit == kNone) {
    return {};
  }
  ByteReader reader(units_);
  reader.seek((uint64_t{function.unit} + static_cast<uint32_t>(number)) * 4);
  const auto offset = reader.read<uint32_t>();
  return reader.ok() && offset != kNone ? name_at(files_, offset) : std::string_view();
}

std::optional<GoInlinedCall> GoFunctionTable::inlined_call(const GoFunction& function, int32_t number) const {
  if (number < 0 || !function.call_tree) {
    return std::nullopt;
  }
  const uint64_t entry_bytes = has_start_lines_ ? 16 : 20;
  ByteReader reader(trees_);
  reader.seek(*function.call_tree + static_cast<uint32_t>(number) * entry_bytes);
  reader.skip(has_start_lines_ ? 4 : 12);  // parent and kind; file and line of the call
  const auto name = reader.read<uint32_t>();
  const auto call_offset = reader.read<uint32_t>();
  GoInlinedCall call{.callee = name_at(names_, name),
                     .callee_start_line = has_start_lines_ ? reader.read<uint32_t>() : 0,
                     .call_address = function.from + call_offset};
  const bool is_sound = reader.ok() && !call.callee.empty() && call.call_address < function.to;
  return is_sound ? std::optional(call) : std::nullopt;
}

}  // namespace plimsoll::symbolizer
