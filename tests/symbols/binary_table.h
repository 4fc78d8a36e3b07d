// Our symbol table of a binary on disk, made in this process by the search that programs use.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "symbolizer/dwarf/second_reader.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/symbols/chain.h"

namespace plimsoll::testing {

// Paths. All but the first may be empty.
struct BinaryFiles {
  std::string binary;
  std::string debug = {};       // with its DWARF and symbols, where it has none itself
  std::string supplement = {};  // of dwz
  std::string package = {};     // .dwp
};

class BinaryTable {
 public:
  // Files that are not named are looked for, but not in folders of debug files. An error too where there are no symbols.
  static Result<BinaryTable> build(const BinaryFiles& files,
                                   symbolizer::ReaderChoice reader = symbolizer::ReaderChoice::kBoth);

  Chain chain_at(uint64_t address) const;
  symbolizer::SymtabReaders readers() const { return table_.readers(); }
  // The file.
  std::string_view bytes() const { return *bytes_; }
  // What of its DWARF could not be found or read, in words; empty where nothing is missing.
  const std::string& problems() const { return problems_; }

 private:
  BinaryTable(std::unique_ptr<std::string> bytes, const symbolizer::Symtab& table, std::string problems)
      : bytes_(std::move(bytes)), table_(table), problems_(std::move(problems)) {}

  std::unique_ptr<std::string> bytes_;  // that table_ borrows
  symbolizer::Symtab table_;
  std::string problems_;
};

}  // namespace plimsoll::testing
