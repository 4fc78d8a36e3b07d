// ELF files made from bytes, for tests of code.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::fdo::testing {

inline constexpr uint64_t kCodeAddress = 0x1000;
inline constexpr uint64_t kDataAddress = 0x2000;

struct MadeSymbol {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool is_local = false;
};

// "48 89 c3" as bytes.
inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  int digits = 0;
  unsigned value = 0;
  for (const char c : hex) {
    const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (!is_digit) {
      continue;
    }
    value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) {
      bytes += static_cast<char>(value);
      value = 0;
    }
  }
  return bytes;
}

// .text at 0x1000, .rodata at 0x2000.
inline std::string made_elf(const std::string& code, const std::vector<MadeSymbol>& symbols,
                            const std::string& data = {}, uint16_t machine = EM_X86_64) {
  std::string names("\0.text\0.rodata\0.symtab\0.strtab\0", 31);
  std::string strings(1, '\0');
  std::string table(sizeof(Elf64_Sym), '\0');
  for (const MadeSymbol& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<Elf64_Word>(strings.size());
    entry.st_info =
        static_cast<unsigned char>(ELF64_ST_INFO(symbol.is_local ? STB_LOCAL : STB_GLOBAL, STT_FUNC));
    entry.st_shndx = 1;
    entry.st_value = symbol.address;
    entry.st_size = symbol.bytes;
    strings += symbol.name + '\0';
    table.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  std::string file(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> sections(1);
  const auto add = [&](uint32_t name, uint32_t type, uint64_t flags, uint64_t address,
                       const std::string& bytes) {
    Elf64_Shdr section{};
    section.sh_name = name;
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_addr = address;
    section.sh_offset = file.size();
    section.sh_size = bytes.size();
    sections.push_back(section);
    file += bytes;
  };
  add(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kCodeAddress, code);
  add(7, SHT_PROGBITS, SHF_ALLOC, kDataAddress, data);
  add(15, SHT_SYMTAB, 0, 0, table);
  sections.back().sh_link = 4;
  sections.back().sh_entsize = sizeof(Elf64_Sym);
  add(23, SHT_STRTAB, 0, 0, strings);
  add(23, SHT_STRTAB, 0, 0, names);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = 5;
  std::memcpy(file.data(), &header, sizeof header);
  file.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  return file;
}

}  // namespace plimsoll::fdo::testing
