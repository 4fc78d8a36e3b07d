#include "symbolizer/libdw/dwarf_file.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <numeric>
#include <span>

#include "symbolizer/dwarf/sections.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxRelocatableBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxLibdwDecompressedBytes = uint64_t{4} << 30;

// As operator new does: the process that parses ends with a status that says so. The attribute is a part of Dwarf_OOM's type.
__attribute__((noreturn)) void end_out_of_memory() {
  if (const std::new_handler handler = std::get_new_handler(); handler != nullptr) {
    handler();
  }
  std::abort();
}

std::unexpected<Error> libdw_error(std::string_view what) {
  return fail(ErrorCode::kCorrupt, "libdw: {}: {}", what, ::dwarf_errmsg(-1));
}

// libelf takes bytes that it could write to. It does so where it decompresses or relocates: neither is left to it in borrowed bytes.
Elf* elf_of(Bytes image) {
  return ::elf_memory(const_cast<char*>(reinterpret_cast<const char*>(image.data())), image.size());
}

Result<std::unique_ptr<Dwarf, EndDwarf>> begin_dwarf(Elf* elf) {
  std::unique_ptr<Dwarf, EndDwarf> dwarf(::dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
  if (dwarf == nullptr) {
    return libdw_error("opening the DWARF");
  }
  ::dwarf_new_oom_handler(dwarf.get(), end_out_of_memory);
  return dwarf;
}

// `image` is borrowed.
Result<OpenedDwarf> open_dwarf(Bytes image) {
  OpenedDwarf opened;
  opened.elf.reset(elf_of(image));
  if (opened.elf == nullptr) {
    return fail(ErrorCode::kCorrupt, "libelf: {}", ::elf_errmsg(-1));
  }
  auto dwarf = begin_dwarf(opened.elf.get());
  if (!dwarf) {
    return propagate(dwarf);
  }
  opened.dwarf = std::move(*dwarf);
  return opened;
}

struct NamedBytes {
  std::string_view name;
  Bytes bytes;
};

// A file that has these sections, and nothing else.
std::string file_of(std::span<const NamedBytes> sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size() + 2);
  header.e_shstrndx = static_cast<uint16_t>(sections.size() + 1);
  std::string file;
  // A buffer that grows would take twice as much for a moment, within a limit of memory.
  file.reserve(std::transform_reduce(sections.begin(), sections.end(), size_t{4096}, std::plus<>(),
                                     [](const NamedBytes& section) { return section.bytes.size(); }));
  file.resize(sizeof header, '\0');
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  const auto add = [&](std::string_view name, uint32_t type, std::string_view content) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<uint32_t>(names.size());
    section.sh_type = type;
    section.sh_offset = file.size();
    section.sh_size = content.size();
    section.sh_addralign = 1;
    headers.push_back(section);
    file += content;
    names.append(name).push_back('\0');
  };
  for (const NamedBytes& section : sections) {
    add(section.name, SHT_PROGBITS, as_text(section.bytes));
  }
  std::string all_names = names;
  all_names.append(".shstrtab").push_back('\0');
  add(".shstrtab", SHT_STRTAB, all_names);
  file.resize((file.size() + 7) / 8 * 8, '\0');
  header.e_shoff = file.size();
  std::memcpy(file.data(), &header, sizeof header);
  for (const Elf64_Shdr& section : headers) {
    file += as_text(std::as_bytes(std::span(&section, 1)));
  }
  return file;
}

// The smallest that libdw takes for DWARF.
std::string file_without_entries() {
  constexpr std::string_view kNothing("\0\0\0\0\0\0\0\0", 8);
  return file_of(std::array{NamedBytes{".debug_info", as_bytes(kNothing)}});
}

bool is_compressed(const elf::Section& section) {
  return section.name.starts_with(".zdebug_") ||
         (section.name.starts_with(".debug_") && (section.flags & SHF_COMPRESSED) != 0);
}

// What libdw needs of it, decompressed; empty where nothing is compressed. libelf would decompress too, but then writes to the headers
// of the file in memory, which may not be written to; and it knows fewer algorithms.
Result<std::string> decompressed_file(Bytes image, DwarfImage::Kind kind) {
  const auto file = elf::ElfFile::parse(image);
  if (!file) {
    return propagate(file);
  }
  if (std::ranges::none_of(file->sections(), is_compressed)) {
    return std::string();
  }
  const auto opened = DwarfImage::open(image, kind, kMaxLibdwDecompressedBytes);
  if (!opened) {
    return propagate(opened);
  }
  const DwarfSections& sections = opened->sections();
  const std::array all{NamedBytes{".debug_info", sections.info},
                       NamedBytes{".debug_abbrev", sections.abbrev},
                       NamedBytes{".debug_aranges", sections.aranges},
                       NamedBytes{".debug_line", sections.line},
                       NamedBytes{".debug_str", sections.str},
                       NamedBytes{".debug_line_str", sections.line_str},
                       NamedBytes{".debug_str_offsets", sections.str_offsets},
                       NamedBytes{".debug_addr", sections.addr},
                       NamedBytes{".debug_ranges", sections.ranges},
                       NamedBytes{".debug_rnglists", sections.rnglists}};
  std::vector<NamedBytes> present;
  std::ranges::copy_if(all, std::back_inserter(present),
                       [](const NamedBytes& section) { return !section.bytes.empty(); });
  return file_of(present);
}

// Where sections have addresses already, libdwfl keeps them, and adds a bias. `sections`: as many as ElfFile has read headers of.
void clear_addresses(std::string& image, size_t sections) {
  Elf64_Ehdr header{};
  std::memcpy(&header, image.data(), sizeof header);
  for (size_t i = 0; i < sections; ++i) {
    const uint64_t at = header.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr);
    std::memset(image.data() + at, 0, sizeof(Elf64_Addr));
  }
}

// Nothing is looked for outside of the file.
int find_no_elf(Dwfl_Module* /*module*/, void** /*data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                char** /*path*/, Elf** /*elf*/) {
  return -1;
}

int find_no_debug_file(Dwfl_Module* /*module*/, void** /*data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                       const char* /*path*/, const char* /*link*/, GElf_Word /*crc*/, char** /*found*/) {
  return -1;
}

// libdwfl has laid the sections out itself, and asks for that which it has put at 0.
int section_at_zero(Dwfl_Module* /*module*/, void** /*data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                    const char* /*section*/, GElf_Word /*number*/, const GElf_Shdr* /*header*/,
                    Dwarf_Addr* address) {
  *address = 0;
  return 0;
}

constexpr Dwfl_Callbacks kOfflineCallbacks{.find_elf = find_no_elf,
                                           .find_debuginfo = find_no_debug_file,
                                           .section_address = section_at_zero,
                                           .debuginfo_path = nullptr};

}  // namespace

Status DwarfFile::open_linked(Bytes debug) {
  auto decompressed = decompressed_file(debug, DwarfImage::Kind::kMain);
  if (!decompressed) {
    return propagate(decompressed);
  }
  decompressed_ = std::move(*decompressed);
  linked_.reset(elf_of(decompressed_.empty() ? debug : as_bytes(decompressed_)));
  if (linked_ == nullptr) {
    return fail(ErrorCode::kCorrupt, "libelf: {}", ::elf_errmsg(-1));
  }
  elf_ = linked_.get();
  return {};
}

// The relocations are applied to the bytes that elf_ keeps: sections that are read later have final addresses.
Status DwarfFile::open_relocatable(Bytes debug) {
  if (debug.size() > kMaxRelocatableBytes) {
    return fail(ErrorCode::kTooLarge, "a relocatable file of {} bytes", debug.size());
  }
  relocated_ = as_text(debug);
  clear_addresses(relocated_, file_.sections().size());
  dwfl_.reset(::dwfl_begin(&kOfflineCallbacks));
  if (dwfl_ == nullptr) {
    return fail(ErrorCode::kExhausted, "libdwfl: {}", ::dwfl_errmsg(-1));
  }
  ::dwfl_report_begin(dwfl_.get());
  Dwfl_Module* const module =
      ::dwfl_report_offline_memory(dwfl_.get(), "module", "module", relocated_.data(), relocated_.size());
  if (module == nullptr || ::dwfl_report_end(dwfl_.get(), nullptr, nullptr) != 0) {
    return fail(ErrorCode::kCorrupt, "libdwfl: {}", ::dwfl_errmsg(-1));
  }
  // Of relocatable files it is 0: their DWARF gets the addresses that libdwfl gives the sections.
  Dwarf_Addr bias = 0;
  Dwarf* const dwarf = ::dwfl_module_getdwarf(module, &bias);
  if (dwarf == nullptr) {
    return fail(ErrorCode::kCorrupt, "applying the relocations: libdwfl: {}", ::dwfl_errmsg(-1));
  }
  elf_ = ::dwarf_getelf(dwarf);
  add_places();
  return {};
}

// libdwfl lays sections out as it likes, and has written to their headers where.
void DwarfFile::add_places() {
  for (uint64_t number = 0; number < file_.sections().size(); ++number) {
    const auto address = layout_.address_of(number);
    GElf_Shdr header{};
    if (address && file_.sections()[number].size_bytes != 0 &&
        ::gelf_getshdr(::elf_getscn(elf_, number), &header) != nullptr) {
      places_.push_back({header.sh_addr, file_.sections()[number].size_bytes, *address});
    }
  }
  std::ranges::sort(places_, {}, &Place::said);
}

// Without a supplementary file libdw looks for one where the DWARF says, and opens it; a supplementary file may name one too.
Status DwarfFile::open_stand_in() {
  stand_in_file_ = file_without_entries();
  auto opened = open_dwarf(as_bytes(stand_in_file_));
  if (!opened) {
    return propagate(opened);
  }
  stand_in_ = std::move(*opened);
  return {};
}

Status DwarfFile::open_supplement(Bytes supplement) {
  if (supplement.empty()) {
    return {};
  }
  auto decompressed = decompressed_file(supplement, DwarfImage::Kind::kSupplement);
  if (!decompressed) {
    return propagate(decompressed, "its supplementary file");
  }
  decompressed_supplement_ = std::move(*decompressed);
  auto opened =
      open_dwarf(decompressed_supplement_.empty() ? supplement : as_bytes(decompressed_supplement_));
  if (!opened) {
    return propagate(opened, "its supplementary file");
  }
  supplement_ = std::move(*opened);
  ::dwarf_setalt(supplement_.dwarf.get(), stand_in_.dwarf.get());
  add_texts(supplement_.elf.get());
  return {};
}

// Once those of relocatable files are decompressed.
void DwarfFile::add_texts(Elf* elf) {
  size_t names = 0;
  if (::elf_getshdrstrndx(elf, &names) != 0) {
    return;
  }
  for (Elf_Scn* section = ::elf_nextscn(elf, nullptr); section != nullptr;
       section = ::elf_nextscn(elf, section)) {
    GElf_Shdr header{};
    if (::gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS ||
        (header.sh_flags & SHF_COMPRESSED) != 0) {
      continue;
    }
    const char* const name = ::elf_strptr(elf, names, header.sh_name);
    // Sections that GNU's older format compressed keep their names.
    if (name == nullptr ||
        !(std::string_view(name).starts_with(".debug_") || std::string_view(name).starts_with(".zdebug_"))) {
      continue;
    }
    const Elf_Data* const data = ::elf_getdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) {
      texts_.emplace_back(static_cast<const char*>(data->d_buf), data->d_size);
    }
  }
}

Result<std::unique_ptr<DwarfFile>> DwarfFile::open(Bytes debug, Bytes supplement) {
  auto parsed = elf::ElfFile::parse(debug);
  if (!parsed) {
    return propagate(parsed);
  }
  if (::elf_version(EV_CURRENT) == EV_NONE) {
    return fail(ErrorCode::kUnsupported, "libelf is of another version: {}", ::elf_errmsg(-1));
  }
  std::unique_ptr<DwarfFile> file(new DwarfFile(std::move(*parsed)));
  const bool is_relocatable = file->file_.type() == ET_REL;
  if (auto opened = is_relocatable ? file->open_relocatable(debug) : file->open_linked(debug); !opened) {
    return propagate(opened);
  }
  if (auto opened = file->open_stand_in(); !opened) {
    return propagate(opened);
  }
  if (auto opened = file->open_supplement(supplement); !opened) {
    return propagate(opened);
  }
  if (auto begun = file->renew(); !begun) {
    return propagate(begun);
  }
  file->add_texts(file->elf_);
  return file;
}

Status DwarfFile::renew() {
  dwarf_.reset();
  auto dwarf = begin_dwarf(elf_);
  if (!dwarf) {
    return propagate(dwarf);
  }
  dwarf_ = std::move(*dwarf);
  ::dwarf_setalt(dwarf_.get(), (supplement() != nullptr ? supplement_ : stand_in_).dwarf.get());
  return {};
}

std::optional<uint64_t> DwarfFile::address_of(uint64_t said) const {
  if (dwfl_ == nullptr) {
    return said;
  }
  const auto after = std::ranges::upper_bound(places_, said, {}, &Place::said);
  if (after == places_.begin()) {
    return std::nullopt;
  }
  const Place& place = *std::prev(after);
  return said - place.said < place.size_bytes ? std::optional(place.address + (said - place.said))
                                              : std::nullopt;
}

std::string_view DwarfFile::text_at(const char* at) const {
  const std::less_equal<> at_most;
  const std::less<> less;
  for (const std::string_view text : texts_) {
    if (at != nullptr && at_most(text.data(), at) && less(at, text.data() + text.size())) {
      const std::string_view rest = text.substr(static_cast<size_t>(at - text.data()));
      const size_t end = rest.find('\0');
      return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
    }
  }
  return {};
}

}  // namespace plimsoll::symbolizer
