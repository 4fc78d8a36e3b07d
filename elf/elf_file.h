// What daemon and symbolizer both read of ELF files: build ID, segments, sections, symbols. 64-bit
// little-endian.
//
// Reads untrusted bytes: every offset and size is checked, and a damaged part makes that part fail, not the
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::elf {

// A PT_LOAD or PT_NOTE program header.
struct Segment {
  uint32_t type;
  bool executable;
  uint64_t file_offset;
  uint64_t file_bytes;
  uint64_t address;  // ELF virtual address
  uint64_t memory_bytes;
};

struct Section {
  std::string_view name;
  uint32_t type;
  uint64_t flags;  // SHF_*
  uint64_t address;
  uint64_t file_offset;
  uint64_t size_bytes;
  uint64_t entry_bytes;
  uint32_t link;
  uint64_t alignment_bytes = 1;  // of its address; 0 or 1: any
};

struct Symbol {
  std::string_view name;
  uint64_t address;
  uint64_t size_bytes;
  uint8_t type;            // STT_*
  uint8_t binding;         // STB_*
  const Section* section;  // of the same file, that it lies in; null: none (SHN_ABS, SHN_COMMON)
};

// A view of an ELF image in memory, which it borrows.
class ElfFile {
 public:
  static Result<ElfFile> parse(Bytes image);

  uint16_t type() const { return type_; }        // ET_*
  uint16_t machine() const { return machine_; }  // EM_*
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Section>& sections() const { return sections_; }

  // The GNU build ID's bytes, from the notes; empty where there is none.
  std::string_view build_id() const { return build_id_; }

  // The ELF address at which the byte at `file_offset` is loaded; executable segments are preferred.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;

  // The bytes of the first section of that name; nothing where there is none, or it has none in this file.
  Bytes section_bytes(std::string_view name) const;
  // The bytes of one of sections(); nothing where it has none in this file.
  Bytes bytes_of(const Section& section) const;

  // Calls `consume` for each symbol of the section of that type (SHT_SYMTAB or SHT_DYNSYM) that is defined, in the
  // file's order. False where there is no such section, or it is damaged.
  bool for_each_symbol(uint32_t section_type, const std::function<void(const Symbol&)>& consume) const;

 private:
  explicit ElfFile(Bytes image) : image_(image) {}
  void read_sections(uint64_t offset, uint16_t entry_bytes, uint64_t count, uint32_t names_index);
  void read_build_id();
  Bytes wide_section_numbers(size_t symbol_table) const;
  const Section* section_of(uint32_t number, uint32_t wide_number) const;

  Bytes image_;
  uint16_t type_ = 0;
  uint16_t machine_ = 0;
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  std::string_view build_id_;
};

// The description of the first note of that owner (with its zero byte, padded to four) and type; empty where there is
// none.
std::string_view find_note(Bytes notes, std::string_view owner, uint32_t type);

// The first GNU build ID in the bytes of a note section or segment (or /sys/kernel/notes); empty where there
// is none.
std::string_view find_build_id(Bytes notes);

// The vdso of this process, which all 64-bit processes of a kernel share; kNotFound where there is none.
Result<ElfFile> own_vdso();
Result<Bytes> own_vdso_bytes();

// As ElfFile::address_of, for those who kept only the segments.
std::optional<uint64_t> address_of(const std::vector<Segment>& segments, uint64_t file_offset);

}  // namespace plimsoll::elf
