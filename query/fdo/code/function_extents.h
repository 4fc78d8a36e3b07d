// Where the functions of a binary lie, by its symbols: what code is read by, and what linkers and BOLT know functions as.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"
#include "query/fdo/code/program_code.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// One contiguous part of a function: GCC and LLVM move cold code into others ("f.cold", "f.cold.1", "f.part.0" is a function of its own).
struct FunctionExtent {
  std::string name;  // as linked
  uint64_t from = 0;
  uint64_t to = 0;        // exclusive
  bool is_local = false;  // STB_LOCAL: other symbols of the binary may have the same name
  uint32_t number =
      0;  // of a local one, from 1 on: its place, by address, among the local symbols of that name

  bool operator==(const FunctionExtent&) const = default;
};

// By rising address, without overlaps. Of several symbols at one address a global one, then the first by name. A symbol without a size reaches
// to the next one of its section. From .symtab, else .dynsym; empty where the file has neither.
std::vector<FunctionExtent> function_extents(const elf::ElfFile& binary);

// From a symbol table that was made of a binary or its separate debug file, within the executable sections of `binary`: for files without
// symbols of their own. Every extent counts as not local. A row of the table that the outermost function changes at begins an extent.
std::vector<FunctionExtent> function_extents(const elf::ElfFile& binary, const symbolizer::Symtab& symbols);

// The extent that an address lies in; null: none. `extents` as the functions above return them.
const FunctionExtent* extent_at(const std::vector<FunctionExtent>& extents, uint64_t address);

// "f" of "f.cold" and "f.cold.N"; nothing where `name` is no cold part.
std::string_view hot_name_of(std::string_view name);

}  // namespace plimsoll::fdo
