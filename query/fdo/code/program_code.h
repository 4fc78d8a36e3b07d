// The code of a binary as basic blocks: what ran one after the other, and where it could go on. From read_code() (read_code.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::fdo {

// What an instruction costs, roughly: how samples of time are shared out.
enum class CostClass : uint8_t {
  kSimple,    // arithmetic and moves between registers
  kLoad,      // reads memory
  kStore,     // writes memory
  kBranch,    // jumps of all kinds
  kCall,      // and returns
  kMultiply,  // multiplications, floating point
  kDivide,    // divisions and square roots
  kSlow,      // atomics, system calls, repeated string instructions
  kNothing,   // no operation
};

struct Instruction {
  uint64_t address = 0;
  uint8_t bytes = 0;
  CostClass cost = CostClass::kSimple;
  bool is_indirect_call = false;
};

// How a block ends.
enum class BlockEnd : uint8_t {
  kFallThrough,  // the next instruction is a target of a jump
  kConditional,  // a conditional jump: two successors, one where its target lies outside
  kJump,         // an unconditional jump within the function
  kTable,        // an indirect jump whose table was read
  kUnknownJump,  // an indirect jump by an address that is worked out (a table that could not be read: all of AArch64), or of unknown origin
  kLeave,        // a jump out of the function: a tail call, by a pointer as well
  kReturn,
  kStop,  // does not go on: a trap, a call that does not return, bytes that are no instruction
};

// Instructions that run one after the other, entered at the first only. Calls do not end a block.
struct Block {
  uint64_t from = 0;
  uint64_t to = 0;                 // exclusive
  uint64_t last = 0;               // address of the last instruction
  uint32_t first_instruction = 0;  // in FunctionCode::instructions
  uint32_t instructions = 0;       // > 0
  uint32_t first_edge = 0;         // in FunctionCode::edges
  uint32_t edges = 0;
  BlockEnd end = BlockEnd::kFallThrough;
};

struct Edge {
  uint32_t from = 0;  // blocks, by their place in FunctionCode::blocks
  uint32_t to = 0;
  bool is_taken = false;  // by a jump; else by falling through
};

// [from, to) of addresses.
struct CodeRange {
  uint64_t from = 0;
  uint64_t to = 0;

  bool operator==(const CodeRange&) const = default;
};

// A function that was asked for, with all its parts.
struct FunctionCode {
  std::string name;  // as linked, of the part with the entry
  uint64_t entry = 0;
  std::vector<CodeRange> parts = {};           // by rising address
  std::vector<Instruction> instructions = {};  // by rising address
  std::vector<Block> blocks = {};              // by rising address
  std::vector<Edge> edges =
      {};  // by block, then as they are found: fall-through last, targets of tables ascending
  // Has blocks that end as kUnknownJump: their successors are not known. Says nothing of how many there are, nor that the function is an interpreter.
  bool has_unknown_jumps = false;

  // The block with this address in it, or one whose index is blocks.size().
  uint32_t block_at(uint64_t address) const;
  std::span<const Edge> edges_of(const Block& block) const {
    return std::span(edges).subspan(block.first_edge, block.edges);
  }
  std::span<const Instruction> instructions_of(const Block& block) const {
    return std::span(instructions).subspan(block.first_instruction, block.instructions);
  }
};

enum class Machine : uint8_t { kX64, kAarch64 };

struct ProgramCode {
  Machine machine = Machine::kX64;
  std::vector<FunctionCode> functions = {};  // by rising entry
  // Of the addresses asked for: those outside of all functions, and those in functions that were too large, or came after the limit.
  uint64_t addresses_elsewhere = 0;
  uint64_t addresses_over_limit = 0;
  uint64_t unreadable_bytes = 0;  // within functions: no instructions
  uint64_t tables = 0;            // indirect jumps whose tables were read
  uint64_t unknown_jumps = 0;     // those whose targets are unknown

  // The function whose parts contain an address; null: none. Logarithmic.
  const FunctionCode* function_at(uint64_t address) const;
  // Made by read_code(): all parts of all functions by rising address, and whose they are.
  struct Part {
    CodeRange range;
    uint32_t function = 0;
  };
  std::vector<Part> parts = {};
};

}  // namespace plimsoll::fdo
