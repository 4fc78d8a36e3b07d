#include "symbolizer/dwarf/unit_reader.h"

#include <dwarf.h>

#include <filesystem>

namespace plimsoll::symbolizer {
namespace {

constexpr size_t kMaxInlinedFrames = 256;
constexpr int kMaxBlockDepth = 512;
constexpr size_t kMaxNameBytes = size_t{16} << 10;

const char* string_of(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute{};
  return ::dwarf_formstring(::dwarf_attr_integrate(&die, attribute_name, &attribute));
}

uint32_t number_of(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute{};
  Dwarf_Word number = 0;
  const bool is_there = ::dwarf_formudata(::dwarf_attr(&die, attribute_name, &attribute), &number) == 0;
  return is_there && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0;
}

bool has_ranges(Dwarf_Die& die) {
  return ::dwarf_hasattr(&die, DW_AT_low_pc) == 1 || ::dwarf_hasattr(&die, DW_AT_ranges) == 1;
}

// Adds the inlined calls that hold the address, outermost first. True where there were any.
bool add_inlined(Dwarf_Die& parent, uint64_t address, int depth, const void*& last,
                 std::vector<Dwarf_Die>& calls) {
  if (depth == kMaxBlockDepth || calls.size() == kMaxInlinedFrames) {
    return false;
  }
  const size_t before = calls.size();
  for_each_child(parent, last, [&](Dwarf_Die& child) {
    const int tag = ::dwarf_tag(&child);
    const bool is_call = tag == DW_TAG_inlined_subroutine;
    if (!is_call && tag != DW_TAG_lexical_block) {
      return true;
    }
    // A block without ranges has its function's.
    const bool is_transparent = !is_call && !has_ranges(child);
    if (!is_transparent && ::dwarf_haspc(&child, address) != 1) {
      return true;
    }
    if (is_call) {
      calls.push_back(child);
    }
    add_inlined(child, address, depth + 1, last, calls);
    return calls.size() == before;  // until found
  });
  return calls.size() != before;
}

}  // namespace

const UnitTree& UnitTrees::of(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  Dwarf_Die unit{};
  ::dwarf_diecu(&copy, &unit, nullptr, nullptr);
  const auto [entry, is_new] = trees_.try_emplace(unit.addr);
  if (is_new && unit.addr != nullptr) {
    entry->second = UnitTree::read(unit, budget_);
  }
  return entry->second;
}

UnitReader::UnitReader(Dwarf_Die unit, bool has_functions, UnitTrees& trees)
    : unit_(unit), has_functions_(has_functions), trees_(trees) {
  if (const char* const directory = string_of(unit_, DW_AT_comp_dir)) {
    directory_ = directory;
  }
  size_t count = 0;
  if (::dwarf_getsrcfiles(&unit_, &files_, &count) != 0) {
    files_ = nullptr;
  }
}

std::string UnitReader::path_of(const char* file) const {
  const std::string_view name = file == nullptr ? "" : file;
  if (name.empty() || name == "???" || name.size() > kMaxNameBytes) {
    return {};
  }
  const bool is_relative = !name.starts_with('/') && !directory_.empty();
  return (is_relative ? std::filesystem::path(directory_) / name : std::filesystem::path(name))
      .lexically_normal()
      .string();
}

std::string UnitReader::function_name(const Dwarf_Die& function) {
  Dwarf_Die die = function;
  const char* linkage_name = string_of(die, DW_AT_linkage_name);
  linkage_name = linkage_name == nullptr ? string_of(die, DW_AT_MIPS_linkage_name) : linkage_name;
  if (linkage_name != nullptr) {
    return linkage_name;
  }
  const char* const name = string_of(die, DW_AT_name);
  if (name == nullptr) {
    return {};
  }
  const Dwarf_Die declaration = declaration_of(die);
  const std::string& scope = trees_.of(declaration).scope_of(declaration);
  return scope.empty() ? name : scope + "::" + name;
}

void UnitReader::set_call_site(Dwarf_Die& inlined, SourceFrame& caller) {
  caller.line = number_of(inlined, DW_AT_call_line);
  caller.column = number_of(inlined, DW_AT_call_column);
  if (files_ != nullptr) {
    caller.file = path_of(::dwarf_filesrc(files_, number_of(inlined, DW_AT_call_file), nullptr, nullptr));
  }
}

std::vector<SourceFrame> UnitReader::frames_at(uint64_t address) {
  std::vector<SourceFrame> frames(1);
  if (Dwarf_Line* const line = ::dwarf_getsrc_die(&unit_, address)) {
    int number = 0;
    int column = 0;
    ::dwarf_lineno(line, &number);
    ::dwarf_linecol(line, &column);
    frames.front().file = path_of(::dwarf_linesrc(line, nullptr, nullptr));
    frames.front().line = static_cast<uint32_t>(std::max(number, 0));
    frames.front().column = static_cast<uint32_t>(std::max(column, 0));
  }
  const Dwarf_Die* const function = has_functions_ ? trees_.of(unit_).function_at(address) : nullptr;
  if (function == nullptr) {
    return frames.front().file.empty() ? std::vector<SourceFrame>() : frames;
  }
  std::vector<Dwarf_Die> calls{*function};
  const void* last = function->addr;
  add_inlined(calls.front(), address, 0, last, calls);
  // calls[i] is the innermost so far: it was called from within calls[i - 1].
  for (size_t i = calls.size(); i > 0; --i) {
    frames.back().function = function_name(calls[i - 1]);
    if (i > 1) {
      set_call_site(calls[i - 1], frames.emplace_back());
    }
  }
  return frames;
}

}  // namespace plimsoll::symbolizer
