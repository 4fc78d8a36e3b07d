// Damage where readers of ELF and DWARF look.
#pragma once

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"
#include "tests/fuzz/mutate.h"

namespace plimsoll::fuzz {

inline bool is_readable(const elf::Section& section) {
  return (section.name.starts_with(".debug_") || section.type == SHT_SYMTAB || section.type == SHT_STRTAB) &&
         section.size_bytes != 0;
}

// The damage of one section, which keeps its size, so that all else is still found.
inline std::string with_damaged_section(std::string image, std::mt19937_64& random) {
  const auto file = *elf::ElfFile::parse(as_bytes(image));
  std::vector<elf::Section> sections;
  std::ranges::copy_if(file.sections(), std::back_inserter(sections), is_readable);
  const elf::Section section = sections[random() % sections.size()];
  const std::string_view content(image.data() + section.file_offset, section.size_bytes);
  std::string damaged = mutated(content, random);
  damaged.resize(content.size());
  image.replace(section.file_offset, damaged.size(), damaged);
  return image;
}

}  // namespace plimsoll::fuzz
