// Runs call frame programs (DWARF 5, section 6.4.2).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "capture/unwind/unwind_row.h"

namespace plimsoll::unwind {

// The DWARF expressions of a table, each once.
class ExpressionPool {
 public:
  // Where `expression` lies in bytes(); nothing where the pool has no room.
  std::optional<uint32_t> add(Bytes expression);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::map<std::string, uint32_t, std::less<>> offsets_;
};

// What the programs of several functions have in common: a common information entry.
struct CommonEntry {
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint8_t pointer_encoding = 0;  // DW_EH_PE_*
  bool has_augmentation_data = false;
  UnwindRow first_row = {};  // what a function's program starts with, and restores
};

struct CfiProgram {
  const CommonEntry& common;
  Bytes instructions;
  uint64_t address = 0;  // ELF address of the instructions themselves, for encoded addresses
  uint64_t begin = 0;    // of the code that the program is of
};

// Takes the row that holds from an address on.
using RowSink = std::function<void(uint64_t begin, const UnwindRow& row)>;

// Hands over every row that differs from the one before, in the order of addresses. False where the program is malformed:
// the rows before the malformed instruction have been handed over, and what holds from `damaged_from` on is not known.
bool run(const CfiProgram& program, ExpressionPool& expressions, const RowSink& sink, uint64_t& damaged_from);

}  // namespace plimsoll::unwind
