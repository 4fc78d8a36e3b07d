// What `plimsoll fdo` works on: a local binary, and what the fleet measured in it.
#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "cli/fdo.h"
#include "elf/elf_file.h"
#include "query/fdo/counts/binary_counts.h"
#include "query/fdo/making/program.h"
#include "symbolizer/process/table_process.h"

namespace plimsoll::cli {

// Movable.
struct FdoBinary {
  MappedFile map;
  elf::ElfFile elf;
  std::string build_id;  // hexadecimal
};

// kCorrupt for what is no ELF file or is truncated; kInvalid for a binary without a build ID, of another one than options.build_id,
// or without code.
Result<FdoBinary> open_fdo_binary(const FdoInput& input);

// Of a binary or a debug file, in hexadecimal. kInvalid where it has none.
Result<std::string> build_id_of(const std::string& path);

// Everything that profiles are made of.
struct FdoData {
  FdoBinary binary;
  fdo::BinaryCounts counts;  // without branches and ranges where the execution goes by samples
  std::optional<symbolizer::MappedTable> symbols;  // where lines are needed
  fdo::Program program;

  const symbolizer::Symtab* table() const { return symbols ? &symbols->table : nullptr; }
};

struct FdoNeeds {
  bool lines = true;  // of the debug information; refused where there are none
  bool calls = true;  // of sampled stacks
};

// Asks for the samples, then reads the binary's code and debug information: errors about samples come first.
Result<FdoData> read_fdo_data(const FdoInput& input, const FdoNeeds& needs);

}  // namespace plimsoll::cli
