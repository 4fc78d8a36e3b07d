#include <elf.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "query/fdo/code/decoded_function.h"

namespace plimsoll::fdo {
namespace {

// How far before a jump what it is made of is looked for.
constexpr unsigned kMaxStepsBack = 64;
constexpr unsigned kMaxForks = 3;

bool writes(const Decoded& insn, uint8_t reg) {
  return reg < kRegisters && (insn.written >> reg & 1U) != 0;
}

bool is_address_of(const Decoded& insn) {
  return insn.role == Role::kAddress && insn.memory.base == kInstructionPointer &&
         insn.memory.index == kNoRegister;
}

bool goes_on(ControlFlow flow) {
  return flow == ControlFlow::kNext || flow == ControlFlow::kCall || flow == ControlFlow::kConditional;
}

}  // namespace

size_t DecodedFunction::begin_at(uint64_t address) const {
  const auto found = std::ranges::lower_bound(instructions, address, {}, &Decoded::address);
  return found != instructions.end() && found->address == address
             ? static_cast<size_t>(found - instructions.begin())
             : kNone;
}

LoadedSections::LoadedSections(const elf::ElfFile& binary) {
  for (const elf::Section& section : binary.sections()) {
    const Bytes bytes = binary.bytes_of(section);
    if ((section.flags & SHF_ALLOC) == 0 || bytes.empty() || bytes.size() > UINT64_MAX - section.address) {
      continue;
    }
    if ((section.flags & SHF_EXECINSTR) != 0) {
      code_.push_back({section.address, bytes});
    }
    if ((section.flags & SHF_WRITE) == 0 || section.name.starts_with(".data.rel.ro")) {
      constants_.push_back({section.address, bytes});
    }
  }
  std::ranges::sort(code_, {}, &Place::address);
  std::ranges::sort(constants_, {}, &Place::address);
}

Bytes LoadedSections::at(const std::vector<Place>& places, uint64_t address) {
  const auto after = std::ranges::upper_bound(places, address, {}, &Place::address);
  if (after == places.begin()) {
    return {};
  }
  const Place& place = *std::prev(after);
  const uint64_t offset = address - place.address;
  return offset < place.bytes.size() ? place.bytes.subspan(static_cast<size_t>(offset)) : Bytes{};
}

// What bounds the index: a register, or the memory that it was loaded from.
struct JumpTables::Walk {
  uint8_t reg = kNoRegister;
  MemoryOperand memory = {};
  bool is_memory = false;

  bool is_compared_by(const Decoded& insn) const {
    return insn.role == Role::kCompare && insn.immediate >= 0 &&
           (is_memory ? insn.has_memory && insn.memory == memory
                      : !insn.has_memory && insn.destination == reg && reg != kNoRegister);
  }
};

JumpTables::JumpTables(const DecodedFunction& function, const LoadedSections& sections, uint64_t max_entries,
                       TableBudget& budget)
    : function_(function), sections_(sections), max_entries_(max_entries), budget_(budget) {
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    const Decoded& insn = function.instructions[i];
    if (insn.has_target && insn.flow != ControlFlow::kCall) {
      sources_.emplace_back(insn.target, i);
    }
    written_ |= insn.written;
    if (is_address_of(insn) && insn.destination < kRegisters) {
      const auto value = static_cast<uint64_t>(insn.memory.displacement);
      Constant& constant = constants_[insn.destination];
      if (!sections.constants_at(value).empty()) {
        constant.is_only = !constant.is_found || (constant.is_only && constant.address == value);
        constant.address = value;
        constant.is_found = true;
      }
    }
  }
  std::ranges::sort(sources_);
}

std::vector<uint64_t> JumpTables::targets_of(size_t jump) const {
  Table table;
  if (!find_table(jump, table)) {
    return {};
  }
  const uint64_t entries = entries_of(table);
  if (entries == 0 || entries > max_entries_ || entries > budget_.entries) {
    return {};
  }
  ByteReader reader(sections_.constants_at(table.address));
  std::vector<uint64_t> targets;
  for (uint64_t entry = 0; entry < entries; ++entry) {
    --budget_.entries;
    const uint64_t target = table.entry_bytes == 8
                                ? reader.read<uint64_t>()
                                : table.address + static_cast<uint64_t>(int64_t{reader.read<int32_t>()});
    if (!reader.ok() || function_.begin_at(target) == DecodedFunction::kNone) {
      return {};
    }
    targets.push_back(target);
  }
  std::ranges::sort(targets);
  targets.erase(std::ranges::unique(targets).begin(), targets.end());
  return targets;
}

bool JumpTables::is_tail_call(size_t jump) const {
  const auto& instructions = function_.instructions;
  if (instructions[jump].has_memory) {
    return instructions[jump].memory.index == kNoRegister;
  }
  return origin_of(jump, instructions[jump].source, kMaxStepsBack, kMaxForks) == Origin::kPointer;
}

bool JumpTables::may_step() const {
  if (budget_.steps == 0) {
    return false;
  }
  --budget_.steps;
  return true;
}

// Where the register that instruction i jumps by got its value, on all ways there that are followed: worked out on one of them is worked out.
JumpTables::Origin JumpTables::origin_of(size_t i, uint8_t reg, unsigned steps, unsigned forks) const {
  const auto& instructions = function_.instructions;
  bool is_pointer = false;
  for (; steps > 0 && reg < kRegisters && may_step(); --steps) {
    if ((written_ >> reg & 1U) == 0) {
      return Origin::kPointer;  // an argument
    }
    const bool falls = i > 0 && function_.is_followed(i - 1) && goes_on(instructions[i - 1].flow);
    const auto sources =
        std::ranges::equal_range(sources_, instructions[i].address, {}, &std::pair<uint64_t, size_t>::first);
    unsigned taken = 0;
    for (const auto& [target, source] : sources) {
      if (forks == 0 || ++taken > kMaxForks) {
        break;
      }
      const Origin origin = origin_of(source, reg, steps - 1, forks - 1);
      if (origin == Origin::kWorkedOut) {
        return origin;
      }
      is_pointer = is_pointer || origin == Origin::kPointer;
    }
    if (!falls) {
      // Before the first instruction of a part: an argument too.
      const bool is_begin =
          std::ranges::binary_search(function_.parts, instructions[i].address, {}, &CodeRange::from);
      return is_pointer || is_begin ? Origin::kPointer : Origin::kOpen;
    }
    --i;
    const Decoded& insn = instructions[i];
    if (!writes(insn, reg)) {
      continue;
    }
    if (insn.flow == ControlFlow::kCall) {
      return Origin::kPointer;
    }
    switch (insn.role) {
      case Role::kMove:
        reg = insn.source;
        continue;
      case Role::kLoadMember:
        return Origin::kPointer;
      case Role::kLoad:
        if (insn.memory.index != kNoRegister) {
          return Origin::kWorkedOut;
        }
        // What was put there is not followed.
        return insn.memory.is_stack && !is_pointer ? Origin::kOpen : Origin::kPointer;
      case Role::kLoadSigned:
      case Role::kAdd:
        return Origin::kWorkedOut;
      default:
        return is_pointer ? Origin::kPointer : Origin::kOpen;
    }
  }
  return is_pointer ? Origin::kPointer : Origin::kOpen;
}

bool JumpTables::find_table(size_t jump, Table& table) const {
  const auto& instructions = function_.instructions;
  const Decoded& insn = instructions[jump];
  table.load = jump;
  if (insn.has_memory) {
    table.index = insn.memory.index;
    if (insn.memory.scale != 8 || insn.memory.has_segment || table.index >= 16) {
      return false;
    }
    if (insn.memory.base == kNoRegister) {
      table.address = static_cast<uint64_t>(insn.memory.displacement);
      return true;
    }
    return insn.memory.displacement == 0 && find_address(jump, insn.memory.base, table.address);
  }
  const uint8_t target = insn.source;
  if (target >= 16) {
    return false;
  }
  // Backwards: the addition, then the load, on the straight way to the jump.
  uint8_t offset = kNoRegister;
  uint8_t base = kNoRegister;
  for (size_t i = jump; i > 0 && jump - i < kMaxStepsBack && function_.is_followed(i - 1); --i) {
    const Decoded& before = instructions[i - 1];
    if (offset == kNoRegister) {
      if (!writes(before, target)) {
        continue;
      }
      if (before.role == Role::kAdd && before.destination == target && before.source < 16) {
        offset = target;
        base = before.source;
        continue;
      }
      // A table of addresses, read into the register.
      if (before.role == Role::kLoad && before.has_memory && before.memory.scale == 8 &&
          before.memory.index < 16) {
        table.load = i - 1;
        table.index = before.memory.index;
        if (before.memory.base == kNoRegister) {
          table.address = static_cast<uint64_t>(before.memory.displacement);
          return true;
        }
        return before.memory.displacement == 0 && find_address(i - 1, before.memory.base, table.address);
      }
      return false;
    }
    const bool is_load = before.role == Role::kLoadSigned && before.has_memory && before.memory.scale == 4 &&
                         before.memory.displacement == 0 && before.memory.index < 16;
    if (is_load && ((before.destination == offset && before.memory.base == base) ||
                    (before.destination == base && before.memory.base == offset))) {
      table.load = i - 1;
      table.index = before.memory.index;
      table.entry_bytes = 4;
      return find_address(i - 1, before.memory.base, table.address);
    }
    if (before.flow != ControlFlow::kNext || writes(before, offset) || writes(before, base)) {
      return false;
    }
  }
  return false;
}

// The address that the last lea before `from` puts into the register; else the one that all of them in the function put there, for loops have it before them.
bool JumpTables::find_address(size_t from, uint8_t reg, uint64_t& address) const {
  const auto& instructions = function_.instructions;
  for (size_t i = from; i > 0 && from - i < kMaxStepsBack && function_.is_followed(i - 1); --i) {
    const Decoded& before = instructions[i - 1];
    if (writes(before, reg)) {
      if (is_address_of(before) && before.destination == reg) {
        address = static_cast<uint64_t>(before.memory.displacement);
        return true;
      }
      break;
    }
  }
  if (reg >= kRegisters || !constants_[reg].is_found || !constants_[reg].is_only) {
    return false;
  }
  address = constants_[reg].address;
  return true;
}

uint64_t JumpTables::entries_of(const Table& table) const {
  return bound_before(table.load, {table.index, {}, false}, kMaxStepsBack, kMaxForks);
}

// Entries that a comparison before instruction i lets through; 0: none found.
uint64_t JumpTables::bound_before(size_t i, Walk walk, unsigned steps, unsigned forks) const {
  const auto& instructions = function_.instructions;
  for (; steps > 0 && may_step(); --steps) {
    const bool falls = i > 0 && function_.is_followed(i - 1) && goes_on(instructions[i - 1].flow);
    const auto sources =
        std::ranges::equal_range(sources_, instructions[i].address, {}, &std::pair<uint64_t, size_t>::first);
    unsigned taken = 0;
    for (const auto& [target, source] : sources) {
      if (forks == 0 || ++taken > kMaxForks) {
        break;
      }
      if (const uint64_t bound = bound_at_jump(source, true, walk); bound != 0) {
        return bound;
      }
      if (!falls) {
        if (const uint64_t bound = bound_before(source, walk, steps - 1, forks - 1); bound != 0) {
          return bound;
        }
      }
    }
    if (!falls) {
      return 0;
    }
    --i;
    const Decoded& insn = instructions[i];
    if (insn.flow == ControlFlow::kConditional) {
      if (const uint64_t bound = bound_at_jump(i, false, walk); bound != 0) {
        return bound;
      }
    }
    if (walk.is_memory || !writes(insn, walk.reg)) {
      continue;
    }
    if (insn.role == Role::kMask && insn.destination == walk.reg && insn.immediate >= 0) {
      return static_cast<uint64_t>(insn.immediate) + 1;
    }
    if (insn.role == Role::kMove && insn.source < 16) {
      walk.reg = insn.source;
    } else if (insn.role == Role::kLoad && insn.has_memory) {
      walk = {kNoRegister, insn.memory, true};
    } else {
      return 0;
    }
  }
  return 0;
}

// What a conditional jump says of the index on the side that is meant, by the comparison right before it.
uint64_t JumpTables::bound_at_jump(size_t branch, bool is_taken, const Walk& walk) const {
  const auto& instructions = function_.instructions;
  const Role role = instructions[branch].role;
  const bool is_up_to = is_taken ? role == Role::kJumpNotAbove : role == Role::kJumpAbove;
  const bool is_below = is_taken ? role == Role::kJumpBelow : role == Role::kJumpNotBelow;
  if (!is_up_to && !is_below) {
    return 0;
  }
  // Moves may stand between the comparison and its jump.
  for (size_t i = branch; i > 0 && branch - i < 8 && function_.is_followed(i - 1); --i) {
    const Decoded& insn = instructions[i - 1];
    if (insn.role == Role::kCompare) {
      return walk.is_compared_by(insn) ? static_cast<uint64_t>(insn.immediate) + (is_up_to ? 1 : 0) : 0;
    }
    const bool keeps_flags = insn.role == Role::kMove || insn.role == Role::kLoad ||
                             insn.role == Role::kLoadSigned || insn.role == Role::kAddress ||
                             insn.cost == CostClass::kStore;
    if (!keeps_flags || (!walk.is_memory && writes(insn, walk.reg))) {
      return 0;
    }
  }
  return 0;
}

}  // namespace plimsoll::fdo
