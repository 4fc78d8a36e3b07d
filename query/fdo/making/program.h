// From a binary and what the fleet measured in it to how often its code ran: what all kinds of profiles are made of.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"
#include "query/fdo/code/execution.h"
#include "query/fdo/code/function_extents.h"
#include "query/fdo/code/program_code.h"
#include "query/fdo/counts/binary_counts.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

struct Program {
  std::vector<FunctionExtent> extents;
  ProgramCode code;
  Execution execution;
};

// By the symbols of the file, else by `symbols`, if any; else what a stripped file exports, which is a part of its functions: the report
// says how much.
std::vector<FunctionExtent> extents_of(const elf::ElfFile& binary, const symbolizer::Symtab* symbols);

// Reads untrusted code. Counts are of addresses (to_addresses()), and lose their branches and ranges where the execution goes by
// samples. `name` is for messages. kInvalid where there are no functions.
Result<Program> read_program(const elf::ElfFile& binary, const std::string& name,
                             std::vector<FunctionExtent> extents, BinaryCounts& counts);

}  // namespace plimsoll::fdo
