// A package of split DWARF 5 (.dwp) of .dwo files, as section 7.3.5 of the standard has it: no tool of Debian 12 packs those of gcc 12.
#pragma once

#include <elf.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::testing {

// Each .dwo file has one compilation unit in 32-bit DWARF 5, uncompressed, or none.
class SplitPackageWriter {
 public:
  Status add(Bytes dwo) {
    const auto file = elf::ElfFile::parse(dwo);
    if (!file) {
      return propagate(file);
    }
    const Bytes units = file->section_bytes(".debug_info.dwo");
    if (units.empty()) {
      return {};  // of assembly
    }
    ByteReader unit(units);
    unit.read<uint32_t>();  // its length
    const auto version = unit.read<uint16_t>();
    const auto type = unit.read<uint8_t>();
    unit.read<uint8_t>();   // of an address
    unit.read<uint32_t>();  // where its abbreviations are
    Unit added{.id = unit.read<uint64_t>(), .parts = {}};
    if (!unit.ok() || version != 5 || type != kSplitCompile) {
      return fail(ErrorCode::kUnsupported, "not one unit of split DWARF 5: version {}, type {}", version,
                  type);
    }
    const std::string offsets = moved_offsets(as_text(file->section_bytes(".debug_str_offsets.dwo")));
    strings_ += as_text(file->section_bytes(".debug_str.dwo"));
    for (size_t i = 0; i < kColumns.size(); ++i) {
      const std::string_view content = kColumns[i].name == ".debug_str_offsets.dwo"
                                           ? std::string_view(offsets)
                                           : as_text(file->section_bytes(kColumns[i].name));
      added.parts[i] = {static_cast<uint32_t>(contents_[i].size()), static_cast<uint32_t>(content.size())};
      contents_[i] += content;
    }
    units_.push_back(added);
    return {};
  }

  std::string bytes() const {
    elf::ElfImage image;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      image.section(kColumns[i].name, SHT_PROGBITS, contents_[i]);
    }
    image.section(".debug_str.dwo", SHT_PROGBITS, strings_);
    image.section(".debug_cu_index", SHT_PROGBITS, index());
    std::string bytes = image.bytes();
    Elf64_Ehdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_version = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

 private:
  struct Column {
    uint32_t number;  // DW_SECT_*
    std::string_view name;
  };
  static constexpr std::array<Column, 6> kColumns{{{1, ".debug_info.dwo"},
                                                   {3, ".debug_abbrev.dwo"},
                                                   {4, ".debug_line.dwo"},
                                                   {5, ".debug_loclists.dwo"},
                                                   {6, ".debug_str_offsets.dwo"},
                                                   {8, ".debug_rnglists.dwo"}}};
  static constexpr uint8_t kSplitCompile = 5;  // DW_UT_split_compile

  struct Part {
    uint32_t offset;
    uint32_t size;
  };
  struct Unit {
    uint64_t id;
    std::array<Part, kColumns.size()> parts;
  };

  // Of strings that are about to follow those that there are. Behind a header of eight bytes.
  std::string moved_offsets(std::string_view table) const {
    std::string moved(table);
    for (size_t at = 8; at + sizeof(uint32_t) <= moved.size(); at += sizeof(uint32_t)) {
      uint32_t offset = 0;
      std::memcpy(&offset, moved.data() + at, sizeof offset);
      offset += static_cast<uint32_t>(strings_.size());
      std::memcpy(moved.data() + at, &offset, sizeof offset);
    }
    return moved;
  }

  std::string index() const {
    const size_t slots = std::bit_ceil(units_.size() * 3 / 2 + 1);
    std::vector<uint64_t> ids(slots);
    std::vector<uint32_t> rows(slots);  // 0: empty
    for (size_t i = 0; i < units_.size(); ++i) {
      const uint64_t id = units_[i].id;
      size_t slot = id % slots;
      while (rows[slot] != 0) {
        slot = (slot + (((id >> 32U) % slots) | 1U)) % slots;
      }
      ids[slot] = id;
      rows[slot] = static_cast<uint32_t>(i + 1);
    }
    std::string index;
    for (const size_t number : {size_t{5}, kColumns.size(), units_.size(), slots}) {
      index += elf::object_bytes(static_cast<uint32_t>(number));
    }
    for (const uint64_t id : ids) {
      index += elf::object_bytes(id);
    }
    for (const uint32_t row : rows) {
      index += elf::object_bytes(row);
    }
    for (const Column& column : kColumns) {
      index += elf::object_bytes(column.number);
    }
    for (uint32_t Part::* const number : {&Part::offset, &Part::size}) {
      for (const Unit& unit : units_) {
        for (const Part& part : unit.parts) {
          index += elf::object_bytes(part.*number);
        }
      }
    }
    return index;
  }

  std::array<std::string, kColumns.size()> contents_;
  std::string strings_;
  std::vector<Unit> units_;
};

}  // namespace plimsoll::testing
