// What a binary needs to have for a compiler profile.
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::fdo {

// kCorrupt where its headers name bytes that it does not have.
Status check_whole(Bytes file, const elf::ElfFile& elf, const std::string& path);

// False of separate debug files.
bool has_code(const elf::ElfFile& elf);

// Those that `strip` takes away.
bool has_symbols(const elf::ElfFile& elf);

}  // namespace plimsoll::fdo
