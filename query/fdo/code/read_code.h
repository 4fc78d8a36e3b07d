// Disassembles the functions that have samples into basic blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"
#include "query/fdo/code/function_extents.h"
#include "query/fdo/code/program_code.h"

namespace plimsoll::fdo {

struct CodeLimits {
  uint64_t max_function_bytes = uint64_t{4} << 20;
  uint64_t max_bytes = uint64_t{64} << 20;  // of all functions together
  uint64_t max_blocks = 4'000'000;          // of all functions together
  uint64_t max_table_entries = 4096;        // of one jump table
  uint64_t max_entries = 4'000'000;         // of the jump tables of all functions together
  uint64_t max_table_steps = 100'000'000;   // back from the jumps of all functions together: some seconds
};

// kUnsupported for machines other than x86-64 and AArch64.
Result<Machine> machine_of(const elf::ElfFile& binary);

// The functions that contain `addresses` (ascending; instructions with samples, ends of branches), whole, with their cold parts. kUnsupported for
// machines other than x86-64 and AArch64, kInvalid for a file without code. Costs about 0.2 us an instruction.
//
// Reads an untrusted file: nothing outside of its sections is read, and functions over a limit are counted and left out; jumps after
// a limit of tables count as unknown.
Result<ProgramCode> read_code(const elf::ElfFile& binary, const std::vector<FunctionExtent>& extents,
                              std::span<const uint64_t> addresses, const CodeLimits& limits = {});

// For tests and people, a line each block: "0x1139..0x1145 5 conditional -> 0x1150 0x1145".
std::string to_text(const FunctionCode& function);

}  // namespace plimsoll::fdo
