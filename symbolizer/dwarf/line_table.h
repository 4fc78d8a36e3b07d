// .debug_line of one unit: which line of which file each address is of (DWARF 2 to 5, 6.2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolizer/dwarf/units.h"

namespace plimsoll::symbolizer {

// From its address up to the next row's. Rows of one sequence follow one another by address, and the last has nothing but
// the address where the sequence ends.
struct LineRow {
  uint64_t address;
  uint32_t file;  // as the table numbers them: path_of()
  uint32_t line;  // 0: code that belongs to none
  uint32_t column;
  uint32_t discriminator;
  bool ends_sequence;
};

struct LineSequence {
  uint64_t from;
  uint64_t to;
  size_t first_row;
  size_t rows;  // the one that ends it included
};

struct LineProgram;

class LineTable {
 public:
  // The table at that offset of .debug_line. `directory` is the compiler's (DW_AT_comp_dir). At most `budget` rows are read,
  // and taken from it. kCorrupt for a damaged header; a program that breaks off keeps the sequences that were complete.
  static Result<LineTable> read(uint64_t offset, const Unit& unit, std::string_view directory,
                                uint64_t& budget);

  // Of what another reader has read; the paths by the numbers of the files, as path_of() gives them.
  static LineTable of(std::vector<LineRow> rows, std::vector<LineSequence> sequences,
                      std::vector<std::string> paths);

  const std::vector<LineRow>& rows() const { return rows_; }
  const std::vector<LineSequence>& sequences() const { return sequences_; }  // in the section's order

  // Directory and name put together as they stand, relative to the compiler's directory where that is known; empty for a number
  // that the table does not have.
  std::string path_of(uint64_t number) const;
  size_t files() const { return std::max(files_.size(), paths_.size()); }

 private:
  struct File {
    std::string_view name;
    uint64_t directory = 0;
  };

  Status read_header(ByteReader& reader, const Unit& unit, LineProgram& program);
  void read_old_names(ByteReader& reader);
  // `unit` as the table's own offsets are long: an assembler may write 32-bit tables for 64-bit units.
  Status read_new_names(ByteReader& reader, const Unit& unit);

  std::string_view compiler_directory_;
  uint16_t version_ = 0;
  std::vector<std::string_view> directories_;
  std::vector<File> files_;
  std::vector<std::string> paths_;  // of another reader; then there are no files_
  std::vector<LineRow> rows_;
  std::vector<LineSequence> sequences_;
};

}  // namespace plimsoll::symbolizer
