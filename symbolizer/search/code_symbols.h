// What an ELF file calls its code, for a symbol table that is made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_file.h"
#include "symbolizer/dwarf/symbol_cursor.h"

namespace plimsoll::symbolizer {

// The symbols of the section of that type (SHT_SYMTAB or SHT_DYNSYM), in its order, of all that is loaded: functions,
// indirect functions, labels without a type, as assembly has them (but not within functions whose sizes are known),
// and data, where a function without a size ends at the latest. Borrows the file's bytes. Nothing where none lies in
// code, or the section is missing or damaged. Addresses in relocatable files are those of a loaded module (elf/module_layout.h).
std::vector<NamedCode> code_symbols(const elf::ElfFile& file, uint32_t section_type);

// Where its code lies: by address, without overlaps. Borrows the file's bytes.
std::vector<CodeSection> code_sections(const elf::ElfFile& file);

}  // namespace plimsoll::symbolizer
