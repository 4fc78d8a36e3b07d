#include "elf/elf_file.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "elf/build_id.h"

namespace plimsoll::elf {
namespace {

constexpr uint64_t kMaxSections = 100'000;

// Tables of a hostile file refer to the same bytes again and again: without these limits it is read for hours.
constexpr uint64_t kMaxSectionNameBytes = 4096;
constexpr uint64_t kMaxBytesOfNotes = uint64_t{16} << 20;  // of all tables together

std::string_view string_at(Bytes strings, uint64_t offset) {
  if (offset >= strings.size()) {
    return {};
  }
  ByteReader reader(strings.subspan(static_cast<size_t>(offset)));
  return reader.c_string();
}

}  // namespace

std::string_view find_note(Bytes notes, std::string_view owner, uint32_t type) {
  ByteReader reader(notes);
  while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto note = reader.read<Elf64_Nhdr>();
    const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
    const std::string_view name = as_text(reader.bytes(padded(note.n_namesz)));
    const size_t description_bytes = std::min<uint64_t>(padded(note.n_descsz), reader.remaining());
    const std::string_view description = as_text(reader.bytes(description_bytes));
    if (!reader.ok()) {
      return {};
    }
    if (note.n_type == type && name == owner && note.n_descsz <= description.size()) {
      return description.substr(0, note.n_descsz);
    }
  }
  return {};
}

std::string_view find_build_id(Bytes notes) {
  return build_id_or_none(find_note(notes, std::string_view("GNU\0", 4), NT_GNU_BUILD_ID));
}

Result<ElfFile> ElfFile::parse(Bytes image) {
  ByteReader reader(image);
  const auto header = reader.read<Elf64_Ehdr>();
  if (!reader.ok() || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return fail(ErrorCode::kCorrupt, "not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorCode::kUnsupported, "not a 64-bit little-endian ELF file");
  }
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorCode::kCorrupt, "ELF program headers of {} bytes", header.e_phentsize);
  }
  ElfFile file(image);
  file.type_ = header.e_type;
  file.machine_ = header.e_machine;
  reader.seek(header.e_phoff);
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = reader.read<Elf64_Phdr>();
    if (!reader.ok()) {
      return fail(ErrorCode::kCorrupt, "ELF program headers end outside the file");
    }
    if (segment.p_type == PT_LOAD || segment.p_type == PT_NOTE) {
      file.segments_.push_back({segment.p_type, (segment.p_flags & PF_X) != 0, segment.p_offset,
                                segment.p_filesz, segment.p_vaddr, segment.p_memsz});
    }
  }
  file.read_sections(header.e_shoff, header.e_shentsize, header.e_shnum, header.e_shstrndx);
  file.read_build_id();
  return file;
}

void ElfFile::read_sections(uint64_t offset, uint16_t entry_bytes, uint64_t count, uint32_t names_index) {
  ByteReader reader(image_);
  reader.seek(offset);
  if (offset == 0 || entry_bytes != sizeof(Elf64_Shdr)) {
    return;
  }
  std::vector<Elf64_Shdr> headers{reader.read<Elf64_Shdr>()};
  // Extended numbering: the first header holds what does not fit the ELF header.
  count = count == 0 ? headers[0].sh_size : count;
  names_index = names_index == SHN_XINDEX ? headers[0].sh_link : names_index;
  count = std::min({count, kMaxSections, reader.remaining() / sizeof(Elf64_Shdr) + 1});
  while (reader.ok() && headers.size() < count) {
    headers.push_back(reader.read<Elf64_Shdr>());
  }
  if (!reader.ok()) {
    return;
  }
  Bytes names;
  if (names_index < headers.size()) {
    names = slice(image_, headers[names_index].sh_offset, headers[names_index].sh_size, "section names")
                .value_or(Bytes{});
  }
  for (const Elf64_Shdr& section : headers) {
    const Bytes readable =
        names.first(std::min<uint64_t>(names.size(), section.sh_name + kMaxSectionNameBytes));
    sections_.push_back({string_at(readable, section.sh_name), section.sh_type, section.sh_flags,
                         section.sh_addr, section.sh_offset, section.sh_size, section.sh_entsize,
                         section.sh_link, section.sh_addralign});
  }
}

void ElfFile::read_build_id() {
  uint64_t bytes_left = kMaxBytesOfNotes;
  const auto read_notes = [&](uint64_t offset, uint64_t size_bytes) {
    const auto notes = slice(image_, offset, size_bytes, "notes");
    if (notes && build_id_.empty()) {
      const uint64_t bytes = std::min<uint64_t>(notes->size(), bytes_left);
      bytes_left -= bytes;
      build_id_ = find_build_id(notes->first(bytes));
    }
  };
  for (const Segment& segment : segments_) {
    if (segment.type == PT_NOTE) {
      read_notes(segment.file_offset, segment.file_bytes);
    }
  }
  // Relocatable files (kernel modules) have no segments.
  for (const Section& section : sections_) {
    if (section.type == SHT_NOTE) {
      read_notes(section.file_offset, section.size_bytes);
    }
  }
}

Result<Bytes> own_vdso_bytes() {
  // The kernel maps the vdso, an ELF file, whole; it is two pages at least (vdso(7)), and its section headers end it.
  constexpr size_t kReadableBytes = size_t{2} * 4096;
  const unsigned long address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) {
    return fail(ErrorCode::kNotFound, "this process has no vdso");
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the auxiliary vector tells addresses as numbers.
  return Bytes(reinterpret_cast<const std::byte*>(address), kReadableBytes);
}

Result<ElfFile> own_vdso() {
  const auto bytes = own_vdso_bytes();
  return bytes ? ElfFile::parse(*bytes) : propagate(bytes);
}

std::optional<uint64_t> ElfFile::address_of(uint64_t file_offset) const {
  return elf::address_of(segments_, file_offset);
}

std::optional<uint64_t> address_of(const std::vector<Segment>& segments, uint64_t file_offset) {
  std::optional<uint64_t> address;
  for (const Segment& segment : segments) {
    const bool inside =
        file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.file_bytes;
    if (segment.type != PT_LOAD || !inside) {
      continue;
    }
    if (!address || segment.executable) {
      address = segment.address + (file_offset - segment.file_offset);
    }
  }
  return address;
}

Bytes ElfFile::section_bytes(std::string_view name) const {
  const auto section = std::ranges::find(sections_, name, &Section::name);
  return section == sections_.end() ? Bytes{} : bytes_of(*section);
}

Bytes ElfFile::bytes_of(const Section& section) const {
  if (section.type == SHT_NOBITS) {
    return {};
  }
  return slice(image_, section.file_offset, section.size_bytes, section.name).value_or(Bytes{});
}

// Of each symbol, where there are more sections than its own field can number (SHN_XINDEX).
Bytes ElfFile::wide_section_numbers(size_t symbol_table) const {
  const auto found = std::ranges::find_if(sections_, [&](const Section& section) {
    return section.type == SHT_SYMTAB_SHNDX && section.link == symbol_table;
  });
  return found == sections_.end()
             ? Bytes()
             : slice(image_, found->file_offset, found->size_bytes, "section numbers").value_or(Bytes{});
}

const Section* ElfFile::section_of(uint32_t number, uint32_t wide_number) const {
  if (number == SHN_XINDEX) {
    number = wide_number;
  } else if (number >= SHN_LORESERVE) {
    return nullptr;
  }
  return number < sections_.size() ? &sections_[number] : nullptr;
}

bool ElfFile::for_each_symbol(uint32_t section_type,
                              const std::function<void(const Symbol&)>& consume) const {
  const auto table = std::ranges::find(sections_, section_type, &Section::type);
  if (table == sections_.end() || table->link >= sections_.size() ||
      table->entry_bytes != sizeof(Elf64_Sym)) {
    return false;
  }
  const Section& strings_section = sections_[table->link];
  const auto symbols = slice(image_, table->file_offset, table->size_bytes, "symbols");
  const auto strings = slice(image_, strings_section.file_offset, strings_section.size_bytes, "symbol names");
  if (!symbols || !strings) {
    return false;
  }
  ByteReader reader(*symbols);
  ByteReader wide_numbers(wide_section_numbers(static_cast<size_t>(table - sections_.begin())));
  while (reader.remaining() >= sizeof(Elf64_Sym)) {
    const auto symbol = reader.read<Elf64_Sym>();
    const auto wide_number = wide_numbers.read<uint32_t>();
    if (symbol.st_shndx == SHN_UNDEF) {
      continue;
    }
    consume({string_at(*strings, symbol.st_name), symbol.st_value, symbol.st_size,
             static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info)),
             static_cast<uint8_t>(ELF64_ST_BIND(symbol.st_info)), section_of(symbol.st_shndx, wide_number)});
  }
  return true;
}

}  // namespace plimsoll::elf
