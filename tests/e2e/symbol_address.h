// Where a file's own symbol table has a function.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "elf/elf_file.h"

namespace plimsoll::testing {

inline uint64_t address_of_symbol(const std::string& path, std::string_view linkage_name) {
  const std::string content = *read_file(path, uint64_t{1} << 30);
  uint64_t address = 0;
  elf::ElfFile::parse(as_bytes(content))->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    address = symbol.name == linkage_name ? symbol.address : address;
  });
  EXPECT_NE(address, 0) << linkage_name << " is not in " << path;
  return address;
}

}  // namespace plimsoll::testing
