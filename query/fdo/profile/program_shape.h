// What the functions of a program look like, line by line, so that those of another build are found again.
//
//   const ProgramShape older(older_table), newer(newer_table);
//   const FunctionShape* function = newer.find("_Z4workv");
//   LineMap lines = align_lines(*older.find("_Z4workv"), *function);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// Its lines with code, wherever that was inlined to. What stands at a line are the columns of its code and the functions that it calls
// by inlining: numbers, ascending, each once.
struct FunctionShape {
  std::string_view name;  // as in profiles
  uint32_t start_line = 0;
  std::map<uint32_t, std::vector<uint64_t>> marks_by_line = {};  // by the line's offset in the function
};

// Borrows the symbol table's text. Costs a look-up for each of its rows, and memory for each line with code.
class ProgramShape {
 public:
  explicit ProgramShape(const symbolizer::Symtab& symtab);

  // The function of that name, or the only one whose name without hashes is the same: the program's file names, and so the hashes of
  // its local functions, may have changed. Null: none.
  const FunctionShape* find(std::string_view name) const;

 private:
  std::map<std::string_view, FunctionShape> functions_;
  std::map<std::string_view, std::vector<std::string_view>> names_by_stable_;
};

// From the line offsets of an older build's function to those of a newer one's. Lines that were removed or rewritten are missing.
using LineMap = std::map<uint32_t, uint32_t>;

// The alignment in which most marks agree: lines that were inserted or removed shift what follows them. Functions of more than some
// thousands of lines are taken as they stand.
LineMap align_lines(const FunctionShape& older, const FunctionShape& newer);

}  // namespace plimsoll::fdo
