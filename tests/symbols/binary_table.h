// Our symbol table of a binary on disk, made from its files in this process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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
  // .dwo files are read from where the DWARF says that they are.
  static Result<BinaryTable> build(const BinaryFiles& files);

  Chain chain_at(uint64_t address) const;
  // The file.
  std::string_view bytes() const { return *bytes_; }
  // What of its DWARF could not be found or read.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  BinaryTable(std::unique_ptr<std::string> bytes, const symbolizer::Symtab& table,
              std::vector<std::string> problems)
      : bytes_(std::move(bytes)), table_(table), problems_(std::move(problems)) {}

  std::unique_ptr<std::string> bytes_;  // that table_ borrows
  symbolizer::Symtab table_;
  std::vector<std::string> problems_;
};

}  // namespace plimsoll::testing
