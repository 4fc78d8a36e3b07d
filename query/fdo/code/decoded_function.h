// A function between its bytes and its blocks. Only query/fdo/code includes this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "elf/elf_file.h"
#include "query/fdo/code/decoder.h"
#include "query/fdo/code/program_code.h"

namespace plimsoll::fdo {

struct DecodedFunction {
  std::vector<CodeRange> parts = {};       // by rising address
  std::vector<Decoded> instructions = {};  // by rising address; without those bytes that are none

  static constexpr size_t kNone = SIZE_MAX;
  // The instruction that begins at an address, or kNone.
  size_t begin_at(uint64_t address) const;
  // Whether instruction i + 1 comes right after i in memory.
  bool is_followed(size_t i) const {
    return i + 1 < instructions.size() &&
           instructions[i].address + instructions[i].bytes == instructions[i + 1].address;
  }
};

// Bytes of a file by address.
class LoadedSections {
 public:
  explicit LoadedSections(const elf::ElfFile& binary);

  // What is there from `address` on to the end of its section; empty: nothing.
  Bytes code_at(uint64_t address) const { return at(code_, address); }
  // Data that the program does not change once it runs.
  Bytes constants_at(uint64_t address) const { return at(constants_, address); }
  bool has_code() const { return !code_.empty(); }

 private:
  struct Place {
    uint64_t address = 0;
    Bytes bytes;
  };
  static Bytes at(const std::vector<Place>& places, uint64_t address);

  std::vector<Place> code_;
  std::vector<Place> constants_;
};

// What all functions of a program together may cost to find tables for. An untrusted file has as many jumps as it likes.
struct TableBudget {
  uint64_t entries = 0;  // that are read
  uint64_t steps = 0;    // instructions that are looked at on the way back from jumps
};

// Targets of an indirect jump through a table in constant data, ascending, each once; empty: unknown. Each is an instruction of the function.
//
// x86-64: "jmp *table(,%reg,8)" and "movslq (%table,%reg,4), %r; add %table, %r; jmp *%r", where a comparison with a constant and a jump, or a mask, bound
// the register on the way there. Counts down what it uses of `budget`, and finds nothing once that is spent.
class JumpTables {
 public:
  JumpTables(const DecodedFunction& function, const LoadedSections& sections, uint64_t max_entries,
             TableBudget& budget);

  std::vector<uint64_t> targets_of(size_t jump) const;
  // Whether an indirect jump takes its target as it is: from an argument, a call, or memory that no index leads to. So calls of virtual functions and through
  // pointers jump in the place of a return. What goes by a table adds to an address, or loads by an index. What comes from the stack may be either, and is taken
  // for a table: code that is not optimized has no tail calls. Either machine.
  bool is_tail_call(size_t jump) const;

 private:
  struct Table {
    uint64_t address = 0;
    uint8_t index = kNoRegister;
    size_t load = 0;  // the instruction that reads the table
    uint8_t entry_bytes = 8;
  };
  enum class Origin : uint8_t { kPointer, kWorkedOut, kOpen };
  Origin origin_of(size_t i, uint8_t reg, unsigned steps, unsigned forks) const;
  bool may_step() const;
  bool find_table(size_t jump, Table& table) const;
  bool find_address(size_t from, uint8_t reg, uint64_t& address) const;
  uint64_t entries_of(const Table& table) const;
  struct Walk;
  uint64_t bound_before(size_t i, Walk walk, unsigned steps, unsigned forks) const;
  uint64_t bound_at_jump(size_t branch, bool is_taken, const Walk& walk) const;

  const DecodedFunction& function_;
  const LoadedSections& sections_;
  const uint64_t max_entries_;
  TableBudget& budget_;
  std::vector<std::pair<uint64_t, size_t>> sources_;  // direct jumps, by target
  uint32_t written_ = 0;                              // registers, by any instruction
  // Addresses of constants that leas put into a register: of those in the function, the first, and whether it is the only one.
  struct Constant {
    uint64_t address = 0;
    bool is_found = false;
    bool is_only = true;
  };
  std::array<Constant, kRegisters> constants_;
};

// `tables`: of the indirect jumps among the instructions that are left as such, in their order, what JumpTables says.
void make_blocks(const DecodedFunction& decoded, const std::vector<std::vector<uint64_t>>& tables,
                 FunctionCode& function);

}  // namespace plimsoll::fdo
