// The symbol table of a Go program from what its runtime knows of itself, where symbols and DWARF were stripped.
#pragma once

#include <optional>

#include "elf/elf_file.h"
#include "symbolizer/dwarf/table_builder.h"
#include "symbolizer/symtab/symtab_writer.h"

namespace plimsoll::symbolizer {

// Nothing where the file has no table of functions. Code in C that is linked into the program is not in it. Bounded time and
// memory: a few steps for each byte of the table.
std::optional<BuiltTable> build_go_table(const elf::ElfFile& file, const SymtabIdentity& identity);

}  // namespace plimsoll::symbolizer
