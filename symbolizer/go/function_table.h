// The table that the runtime of a Go program keeps of its functions (.gopclntab), for its own stack traces: their names,
// files and lines, and the calls that were inlined into them. It stays where symbols and DWARF are stripped.
//
// The format is that of Go's runtime/symtab.go and debug/gosym, as Go 1.18 and later write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

struct GoFunction {
  uint64_t from = 0;  // ELF addresses
  uint64_t to = 0;
  std::string_view name;
  uint32_t start_line = 0;  // 0: unknown (before Go 1.20)
  // Where its lists of values by address begin; 0: it has none.
  uint32_t files = 0;
  uint32_t lines = 0;
  uint32_t inlined_calls = 0;
  uint32_t unit = 0;                       // of the names of its files
  std::optional<uint32_t> call_tree = {};  // in the runtime's read-only data
};

// A call that was inlined into a function.
struct GoInlinedCall {
  std::string_view callee;
  uint32_t callee_start_line = 0;  // 0: unknown
  uint64_t call_address = 0;  // an instruction of the function, which tells file, line and caller of the call
};

// Goes through the values that a function's addresses have: each holds for some bytes, then comes the next. Ends where the table is
// damaged.
class GoValues {
 public:
  GoValues(Bytes values, uint32_t offset, uint64_t from, uint32_t instruction_bytes);

  // The value at `address`, which is not below that of the last call; -1: none. Each value that is read takes one of `steps`.
  int32_t at(uint64_t address, uint64_t& steps);
  // Up to where it holds.
  uint64_t end() const { return end_; }

 private:
  bool advance();

  ByteReader reader_;
  const uint32_t instruction_bytes_;
  int64_t value_ = -1;
  uint64_t end_;
  bool is_first_ = true;
};

// Borrows the bytes of the file.
class GoFunctionTable {
 public:
  // Nothing where the file has no such table. kInvalid for one of Go before 1.18, kCorrupt for one that is damaged.
  static Result<std::optional<GoFunctionTable>> find(const elf::ElfFile& file);

  uint64_t size() const { return functions_; }
  uint64_t bytes() const { return bytes_; }
  // By rising address. Nothing where the entry is damaged.
  std::optional<GoFunction> function(uint64_t number) const;

  GoValues values(const GoFunction& function, uint32_t offset) const {
    return {values_, offset, function.from, instruction_bytes_};
  }
  // Of a number that `files` of the function has at some address; empty: none.
  std::string_view file_name(const GoFunction& function, int32_t number) const;
  // Of a number that `inlined_calls` has; nothing where the tree is damaged, or nowhere to be found.
  std::optional<GoInlinedCall> inlined_call(const GoFunction& function, int32_t number) const;

 private:
  explicit GoFunctionTable(const elf::ElfFile& file) : file_(&file) {}
  Status read_header(Bytes table, uint64_t table_address);
  void find_call_trees(uint64_t table_address, uint64_t names_offset);

  const elf::ElfFile* file_;
  bool has_start_lines_ = false;  // Go 1.20 and later
  uint32_t instruction_bytes_ = 1;
  uint64_t functions_ = 0;
  uint64_t bytes_ = 0;         // of all of it
  uint64_t code_address_ = 0;  // that functions begin relative to
  Bytes names_;
  Bytes units_;  // of each file in a unit, where its name begins
  Bytes files_;  // names
  Bytes values_;
  Bytes entries_;  // of functions: where they begin and are described, then the descriptions
  Bytes trees_;    // read-only data from where call trees are told relative to; empty: not found
};

}  // namespace plimsoll::symbolizer
