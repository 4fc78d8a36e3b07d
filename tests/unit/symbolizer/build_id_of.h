#pragma once

#include <string>

#include "base/file.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

// The build ID that a file on disk says it has, in bytes.
inline std::string build_id_of(const std::string& path) {
  const std::string content = *read_file(path, uint64_t{1} << 30);
  return std::string(elf::ElfFile::parse(as_bytes(content))->build_id());
}

}  // namespace plimsoll::symbolizer
