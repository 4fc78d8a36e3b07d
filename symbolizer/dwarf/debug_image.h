// libelf's and libdw's handles on an image in memory. For the sources of this folder only: it brings libdw's header.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

struct EndElf {
  void operator()(Elf* elf) const;
};
using ElfHandle = std::unique_ptr<Elf, EndElf>;

struct EndDwarf {
  void operator()(Dwarf* dwarf) const;
};
using DwarfHandle = std::unique_ptr<Dwarf, EndDwarf>;

// An ELF image whose DWARF can be read: checked before libdw sees it, because libdw takes the sizes of compressed
// sections at their word, and opens the files that some sections name.
class DebugImage {
 public:
  enum class Role {
    kMain,        // its addresses matter: it must be linked
    kSupplement,  // it has none
  };
  // Borrows the image, in which libelf then changes the headers of sections that it decompresses. kNotFound without DWARF, kUnsupported where libdw could not read it, kTooLarge where it would
  // decompress to too much.
  static Result<DebugImage> check(std::span<std::byte> image, Role role);

  const elf::ElfFile& file() const { return file_; }
  // What its sections take in memory once decompressed; 0 for sections that are not compressed, which stay on disk.
  uint64_t decompressed_bytes() const { return decompressed_bytes_; }
  // Its DWARF refers to a supplementary file (dwz).
  bool needs_supplement() const { return needs_supplement_; }

  // Decompresses on first use, and keeps that as long as it lives: a Dwarf on it can be ended and begun again cheaply.
  Result<ElfHandle> open() const;

 private:
  DebugImage(std::span<std::byte> image, elf::ElfFile file) : image_(image), file_(std::move(file)) {}
  Status add_section(const elf::Section& section);

  std::span<std::byte> image_;
  elf::ElfFile file_;
  uint64_t decompressed_bytes_ = 0;
  bool needs_supplement_ = false;
  bool has_units_ = false;
};

// What libdw or libelf last failed at, in this thread.
std::string last_dwarf_error();

}  // namespace plimsoll::symbolizer
