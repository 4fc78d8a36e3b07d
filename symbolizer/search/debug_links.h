// What ELF files say of other files with more about the same binary: .gnu_debuglink, .gnu_debugaltlink, .gnu_debugdata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

// The separate debug file.
struct DebugLink {
  std::string name;  // of a file, without a folder
  uint32_t crc;      // CRC-32 of its content
};
// Nothing where there is no such section, or it does not hold the name of a file.
std::optional<DebugLink> find_debug_link(const elf::ElfFile& file);

// dwz's supplementary file, which several debug files share.
struct SupplementLink {
  std::string path;      // absolute, or from the folder of the file that names it
  std::string build_id;  // binary
};
std::optional<SupplementLink> find_supplement_link(const elf::ElfFile& file);

// "ROOT/.build-id/xx/yyyy.debug" for a build ID; empty for IDs too short to have one.
std::string build_id_path(const std::string& root, std::string_view build_id);

// The bytes of the ELF file in .gnu_debugdata, decompressed: a symbol table of the functions that .dynsym lacks. Empty
// where there is none; an error where it is damaged, or larger than `max_bytes`.
Result<std::string> read_mini_debug_info(const elf::ElfFile& file, uint64_t max_bytes);

// The CRC that .gnu_debuglink holds, of a file's content.
uint32_t debug_link_crc(Bytes content);

}  // namespace plimsoll::symbolizer
