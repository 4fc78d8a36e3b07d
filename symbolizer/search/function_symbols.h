// The function symbols of an ELF file, for a symbol table that is made of them.
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_file.h"
#include "symbolizer/dwarf/table_builder.h"

namespace plimsoll::symbolizer {

// Those of the section of that type (SHT_SYMTAB or SHT_DYNSYM), in its order: functions, indirect functions, and names without
// a type that lie in code, as assembly has them. One without a size is given that up to the next symbol, or the end of its
// section, so that _init does not name the .plt behind it. Borrows the file's bytes. Nothing where the section is missing or
// damaged.
std::vector<NamedCode> function_symbols(const elf::ElfFile& file, uint32_t section_type);

}  // namespace plimsoll::symbolizer
