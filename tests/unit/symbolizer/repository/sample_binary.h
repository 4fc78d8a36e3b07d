// Small binaries of a known build ID, kind and quality.
#pragma once

#include <elf.h>

#include <string>
#include <string_view>

#include "store/model/bindings.h"
#include "symbolizer/repository/binary_facts.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::symbolizer {

struct SampleBinary {
  std::string build_id = "sample build ID";
  BinaryKind kind = BinaryKind::kExecutable;
  store::SymbolQuality quality = store::SymbolQuality::kFull;
  std::string filler = {};  // tells two of them apart
};

inline std::string image_of(const SampleBinary& sample) {
  using store::SymbolQuality;
  elf::ElfImage image;
  image.segment(PT_NOTE, elf::note("GNU", NT_GNU_BUILD_ID, sample.build_id));
  const uint32_t text = sample.kind == BinaryKind::kExecutable
                            ? image.code(".text", 0x1000, std::string(64, '\x90'))
                            : image.loaded_section(".text", SHF_ALLOC | SHF_EXECINSTR, 0x1000, 64);
  if (sample.quality != SymbolQuality::kNone) {
    const bool is_dynamic = sample.quality == SymbolQuality::kDynsym;
    const uint32_t names =
        image.section(is_dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, std::string("\0work\0", 6));
    Elf64_Sym work{};
    work.st_name = 1;
    work.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    work.st_shndx = static_cast<uint16_t>(text);
    work.st_value = 0x1000;
    work.st_size = 64;
    image.section(is_dynamic ? ".dynsym" : ".symtab", is_dynamic ? SHT_DYNSYM : SHT_SYMTAB,
                  elf::object_bytes(Elf64_Sym{}) + elf::object_bytes(work), names, sizeof(Elf64_Sym));
  }
  if (sample.quality >= SymbolQuality::kLines) {
    image.section(".debug_line", SHT_PROGBITS, "lines");
  }
  if (sample.quality == SymbolQuality::kFull) {
    image.section(".debug_info", SHT_PROGBITS, "units");
  }
  image.section(".comment", SHT_PROGBITS, "made by a test " + sample.filler);
  return image.bytes();
}

}  // namespace plimsoll::symbolizer
