#include "query/fdo/making/program.h"

#include <utility>

#include "query/fdo/code/read_code.h"
#include "query/fdo/making/elf_checks.h"

namespace plimsoll::fdo {

std::vector<FunctionExtent> extents_of(const elf::ElfFile& binary, const symbolizer::Symtab* symbols) {
  return has_symbols(binary) || symbols == nullptr ? function_extents(binary)
                                                   : function_extents(binary, *symbols);
}

Result<Program> read_program(const elf::ElfFile& binary, const std::string& name,
                             std::vector<FunctionExtent> extents, BinaryCounts& counts) {
  Program program{.extents = std::move(extents), .code = {}, .execution = {}};
  if (program.extents.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{} has no symbols (stripped): its functions are unknown", name),
        "give the unstripped file, or its debug file with --debug");
  }
  auto code = read_code(binary, program.extents, sampled_addresses(counts));
  if (!code) {
    return propagate(code, "reading the code of {}", name);
  }
  program.code = std::move(*code);
  program.execution = execution_of(program.code, counts);
  if (!program.execution.counts.from_branches) {
    counts.branches.clear();
    counts.ranges.clear();
  }
  return program;
}

}  // namespace plimsoll::fdo
