// Names of functions, for /debug/pprof/symbol: from the symbol tables of the files that are mapped.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "appprof/mappings.h"

namespace plimsoll::appprof {

// Names as linked, not demangled, of the functions around these addresses, in their order; empty: unknown. Reads the symbol table of
// each file that they lie in once, piece by piece: memory is that of the answer.
std::vector<std::string> names_of(const CodeMap& code, std::span<const uintptr_t> addresses);

// Of an ELF file of 64 bits in this machine's byte order, and of addresses as it has them, in ascending order; of .symtab, or of
// .dynsym where it is stripped. Every offset is checked; nothing where the file is malformed. The file is read, not mapped: a mapped
// file that is cut short ends its reader.
std::vector<std::string> names_in_file(int file, std::span<const uint64_t> addresses);

}  // namespace plimsoll::appprof
