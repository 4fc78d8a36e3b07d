// A binary's DWARF and symbols made into its one symbol table (symtab/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "elf/elf_file.h"
#include "symbolizer/dwarf/second_reader.h"
#include "symbolizer/dwarf/split_units.h"
#include "symbolizer/dwarf/symbol_cursor.h"
#include "symbolizer/symtab/symtab_writer.h"

namespace plimsoll::symbolizer {

// All bytes and text are borrowed.
struct TableInputs {
  Bytes debug;       // the file with the DWARF; empty: none
  Bytes supplement;  // that it refers to (dwz); empty: none at hand
  Bytes package;     // of its split DWARF (.dwp); empty: none at hand
  // What is not in the package; empty bytes where it is not at hand.
  FindSplit find_split = {};
  std::vector<NamedCode> symbols;
  std::vector<CodeSection> sections;  // that symbols name the code of: by address, without overlaps
  SymtabQuality symbol_quality = SymtabQuality::kNone;  // of what the symbols are from
  std::vector<elf::Segment> segments;        // of the binary itself; empty: only a debug file is at hand
  std::optional<uint64_t> kernel_text = {};  // ELF address of a kernel's symbol _text
  SymtabIdentity identity;
  // What the table may claim at most: less where a file is not at hand that the DWARF needs.
  SymtabQuality max_quality = SymtabQuality::kFull;
  ReaderChoice reader = ReaderChoice::kBoth;
  OpenSecondReader open_second =
      {};                // of `debug` and `supplement`; called once at most; empty: there is none
  unsigned threads = 1;  // that read units; the bytes are the same with any number
};

struct BuiltTable {
  std::string bytes;
  SymtabQuality quality = SymtabQuality::kNone;
  // What is missing although the file refers to it, or cannot be read, in words.
  std::vector<std::string> problems;
};

// Never fails: what is damaged is left out, and said; at worst there are no rows. Bounded memory: besides the table itself about
// 30 bytes for each row of it, and what one unit takes.
BuiltTable build_table(const TableInputs& inputs);

}  // namespace plimsoll::symbolizer
