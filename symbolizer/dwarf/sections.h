// The sections of one file's DWARF as bytes, decompressed where the file has them compressed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

// Borrowed; empty where the file has no such section. Of a file of split DWARF they are those with ".dwo" behind their names.
struct DwarfSections {
  Bytes info;
  Bytes abbrev;
  Bytes aranges;
  Bytes line;
  Bytes str;
  Bytes line_str;
  Bytes str_offsets;
  Bytes addr;
  Bytes ranges;
  Bytes rnglists;
  Bytes cu_index;  // of a package of split DWARF (.dwp)
};

// What a file's DWARF consists of. Owns what had to be decompressed, borrows the rest of the image. May be moved.
class DwarfImage {
 public:
  enum class Kind {
    kMain,
    kSupplement,  // of dwz
    kSplit,       // .dwo, .dwp
  };
  // kNotFound where there is no .debug_info, kUnsupported for a file that is not linked (kMain alone: its addresses are not
  // final), kTooLarge where the sections would take more than `max_decompressed_bytes`.
  static Result<DwarfImage> open(Bytes image, Kind kind, uint64_t max_decompressed_bytes);

  const DwarfSections& sections() const { return sections_; }
  const elf::ElfFile& file() const { return file_; }

 private:
  explicit DwarfImage(elf::ElfFile file) : file_(std::move(file)) {}
  Result<Bytes> content_of(const elf::Section& section, Bytes image);

  elf::ElfFile file_;
  DwarfSections sections_;
  std::vector<std::string> decompressed_;
  uint64_t decompressed_left_ = 0;
};

}  // namespace plimsoll::symbolizer
