#include "query/fdo/making/elf_checks.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace plimsoll::fdo {

Status check_whole(Bytes file, const elf::ElfFile& elf, const std::string& path) {
  uint64_t end = sizeof(Elf64_Ehdr);
  Elf64_Ehdr header{};
  if (file.size() >= sizeof header) {
    std::memcpy(&header, file.data(), sizeof header);
    end = std::max(end, header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize);
  }
  for (const elf::Section& section : elf.sections()) {
    if (section.type != SHT_NOBITS) {
      end = std::max(end, section.file_offset + section.size_bytes);
    }
  }
  for (const elf::Segment& segment : elf.segments()) {
    if (segment.type == PT_LOAD && elf.sections().empty()) {
      end = std::max(end, segment.file_offset + segment.file_bytes);
    }
  }
  return end <= file.size() ? Status()
                            : with_hint(fail(ErrorCode::kCorrupt,
                                             "{} is truncated: it has {} bytes, and its headers name {}",
                                             path, file.size(), end),
                                        "copy the binary again");
}

bool has_code(const elf::ElfFile& elf) {
  return std::ranges::any_of(elf.sections(), [](const elf::Section& section) {
    return (section.flags & SHF_EXECINSTR) != 0 && section.type == SHT_PROGBITS && section.size_bytes > 0;
  });
}

bool has_symbols(const elf::ElfFile& elf) {
  return std::ranges::any_of(elf.sections(),
                             [](const elf::Section& section) { return section.type == SHT_SYMTAB; });
}

}  // namespace plimsoll::fdo
