#include "symbolizer/libdw/dwarf_file.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <span>

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxRelocatableBytes = uint64_t{1} << 30;

// As operator new does: the process that parses ends with a status that says so.
[[noreturn]] void end_out_of_memory() {
  if (const std::new_handler handler = std::get_new_handler(); handler != nullptr) {
    handler();
  }
  std::abort();
}

std::unexpected<Error> libdw_error(std::string_view what) {
  return fail(ErrorCode::kCorrupt, "libdw: {}: {}", what, ::dwarf_errmsg(-1));
}

// libelf takes bytes that it could write to. It copies the headers before it changes them, and we write nothing.
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

template <typename T>
void append_object(const T& object, std::string& bytes) {
  bytes += as_text(std::as_bytes(std::span(&object, 1)));
}

// The smallest file that libdw takes for DWARF. Without a supplementary file it would look for one where the DWARF says, and open it.
std::string file_without_entries() {
  constexpr uint64_t kInfoBytes = 8;
  const std::string names("\0.debug_info\0.shstrtab\0", 23);
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
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof(Elf64_Ehdr) + kInfoBytes + 24;  // the names, padded
  Elf64_Shdr info{};
  info.sh_name = 1;
  info.sh_type = SHT_PROGBITS;
  info.sh_offset = sizeof(Elf64_Ehdr);
  info.sh_size = kInfoBytes;
  info.sh_addralign = 1;
  Elf64_Shdr strings{};
  strings.sh_name = 13;
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof(Elf64_Ehdr) + kInfoBytes;
  strings.sh_size = names.size();
  strings.sh_addralign = 1;
  std::string file;
  append_object(header, file);
  file.append(kInfoBytes, '\0');
  file += names;
  file.resize(header.e_shoff, '\0');
  append_object(Elf64_Shdr{}, file);
  append_object(info, file);
  append_object(strings, file);
  return file;
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
  linked_.reset(elf_of(debug));
  if (linked_ == nullptr) {
    return fail(ErrorCode::kCorrupt, "libelf: {}", ::elf_errmsg(-1));
  }
  elf_ = linked_.get();
  return {};
}

// The relocations are applied to the bytes that elf_ keeps: whoever reads its sections later reads final addresses.
Status DwarfFile::open_relocatable(Bytes debug) {
  if (debug.size() > kMaxRelocatableBytes) {
    return fail(ErrorCode::kTooLarge, "a relocatable file of {} bytes", debug.size());
  }
  relocated_ = as_text(debug);
  dwfl_.reset(::dwfl_begin(&kOfflineCallbacks));
  if (dwfl_ == nullptr) {
    return fail(ErrorCode::kExhausted, "libdwfl: {}", ::dwfl_errmsg(-1));
  }
  ::dwfl_report_begin(dwfl_.get());
  module_ =
      ::dwfl_report_offline_memory(dwfl_.get(), "module", "module", relocated_.data(), relocated_.size());
  if (module_ == nullptr || ::dwfl_report_end(dwfl_.get(), nullptr, nullptr) != 0) {
    return fail(ErrorCode::kCorrupt, "libdwfl: {}", ::dwfl_errmsg(-1));
  }
  Dwarf* const dwarf = ::dwfl_module_getdwarf(module_, &bias_);
  if (dwarf == nullptr) {
    return fail(ErrorCode::kCorrupt, "applying the relocations: libdwfl: {}", ::dwfl_errmsg(-1));
  }
  elf_ = ::dwarf_getelf(dwarf);
  return {};
}

Status DwarfFile::open_supplement(Bytes supplement) {
  has_supplement_ = !supplement.empty();
  if (!has_supplement_) {
    no_supplement_ = file_without_entries();
    supplement = as_bytes(no_supplement_);
  }
  supplement_elf_.reset(elf_of(supplement));
  if (supplement_elf_ == nullptr) {
    return fail(ErrorCode::kCorrupt, "its supplementary file: libelf: {}", ::elf_errmsg(-1));
  }
  auto dwarf = begin_dwarf(supplement_elf_.get());
  if (!dwarf) {
    return propagate(dwarf, "its supplementary file");
  }
  supplement_ = std::move(*dwarf);
  add_texts(supplement_elf_.get());
  return {};
}

// Once libdw has decompressed them.
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
    const std::string_view called(name == nullptr ? "" : name);
    if (!called.starts_with(".debug_") && !called.starts_with(".zdebug_")) {
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
  // Which libdw decompresses once, and then takes for damaged.
  const bool is_old_compressed = std::ranges::any_of(
      file_.sections(), [](const elf::Section& section) { return section.name.starts_with(".zdebug_"); });
  if (dwarf_ != nullptr && is_old_compressed) {
    return {};
  }
  dwarf_.reset();
  auto dwarf = begin_dwarf(elf_);
  if (!dwarf) {
    return propagate(dwarf);
  }
  dwarf_ = std::move(*dwarf);
  ::dwarf_setalt(dwarf_.get(), supplement_.get());
  return {};
}

std::optional<uint64_t> DwarfFile::address_of(uint64_t said) const {
  if (module_ == nullptr) {
    return said;
  }
  Dwarf_Addr offset = said + bias_;
  const int base = ::dwfl_module_relocate_address(module_, &offset);
  GElf_Word section = 0;
  if (base < 0 || ::dwfl_module_relocation_info(module_, static_cast<unsigned>(base), &section) == nullptr) {
    return std::nullopt;
  }
  const auto start = layout_.address_of(section);
  return start && offset <= file_.sections()[section].size_bytes ? std::optional(*start + offset)
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
