// Names of functions, for /debug/pprof/symbol: from the symbol tables of the files that are mapped.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "appprof/mappings.h"

namespace plimsoll::appprof {

struct Symbol {
  uint64_t address = 0;  // as the file says
  uint64_t size = 0;
  std::string name;  // as linked, not demangled
};

// Functions of an ELF file of 64 bits in this machine's byte order, by address; of .symtab, or of .dynsym where it is stripped.
// Every offset is checked; nothing where the file is malformed. The file is read, not mapped: a mapped file that is cut short
// ends its reader.
std::vector<Symbol> read_symbols(int file);

// One request's answers. Reads the tables of each file once, up to 256 MiB each.
class SymbolSource {
 public:
  explicit SymbolSource(const CodeMap& code) : code_(code) {}
  // Empty: unknown.
  std::string name_at(uintptr_t address);

 private:
  const std::vector<Symbol>& symbols_of(const std::string& path);

  const CodeMap& code_;
  std::map<std::string, std::vector<Symbol>> files_;
};

}  // namespace plimsoll::appprof
