#include "elf/binary_part.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

namespace plimsoll::elf {
namespace {

constexpr std::string_view kMarkName = ".plimsoll.part";
constexpr size_t kHashBytes = 16;
constexpr uint64_t kMaxNamesBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxNotesBytes = uint64_t{64} << 10;
constexpr int kMaxNotes = 8;
constexpr size_t kMaxNameBytes = 64;  // of a section that is known
constexpr uint64_t kPieceAlignment = 8;

constexpr std::array<std::string_view, 3> kPartNames{"symbols", "debug", "code"};

template <typename T>
std::string bytes_of_all(const std::vector<T>& objects) {
  return {reinterpret_cast<const char*>(objects.data()), objects.size() * sizeof(T)};
}

template <typename T>
Result<std::vector<T>> read_table(const ReadAt& read, uint64_t offset, size_t count) {
  if (count == 0) {
    return std::vector<T>();
  }
  const auto bytes = read(offset, count * sizeof(T));
  if (!bytes) {
    return propagate(bytes);
  }
  std::vector<T> table(count);
  std::memcpy(table.data(), bytes->data(), std::min(bytes->size(), count * sizeof(T)));
  return table;
}

// Makes a part of a file, section by section.
class PartMaker {
 public:
  PartMaker(const ReadAt& read, uint64_t file_bytes, BinaryPart part)
      : read_(read), file_bytes_(file_bytes), part_(part) {}

  Result<PartLayout> make(std::string_view htl_hash) {
    if (const Status read = read_headers(); !read) {
      return propagate(read);
    }
    const uint64_t content_begin = sizeof(Elf64_Ehdr) + segments_.size() * sizeof(Elf64_Phdr);
    end_ = content_begin;
    for (Elf64_Phdr& segment : segments_) {
      place_segment(segment);
    }
    for (size_t i = 1; i < sections_.size(); ++i) {
      if (const Status placed = place(i); !placed) {
        return propagate(placed);
      }
    }
    add_mark(htl_hash);
    header_.e_phoff = segments_.empty() ? 0 : sizeof(Elf64_Ehdr);
    header_.e_shoff = end_;
    header_.e_shnum = static_cast<uint16_t>(sections_.size());
    add_own(bytes_of_all(sections_));
    std::string head(reinterpret_cast<const char*>(&header_), sizeof header_);
    head += bytes_of_all(segments_);
    layout_.pieces.insert(layout_.pieces.begin(), PartPiece{.bytes = std::move(head)});
    layout_.size_bytes = end_;
    return std::move(layout_);
  }

 private:
  Status read_headers() {
    const auto headers = read_table<Elf64_Ehdr>(read_, 0, 1);
    if (!headers) {
      return propagate(headers);
    }
    header_ = headers->front();
    const bool is_elf = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                        header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!is_elf || (header_.e_phnum != 0 && header_.e_phentsize != sizeof(Elf64_Phdr))) {
      return fail(ErrorCode::kCorrupt, "not a 64-bit little-endian ELF file");
    }
    // One more section has to have a number. Very many of them are numbered elsewhere.
    const bool has_sections = header_.e_shoff != 0 && header_.e_shentsize == sizeof(Elf64_Shdr) &&
                              header_.e_shnum > 0 && header_.e_shnum < SHN_LORESERVE - 1 &&
                              header_.e_shstrndx < header_.e_shnum;
    if (!has_sections) {
      return fail(ErrorCode::kUnsupported, "no section headers say what is symbols, and what is code");
    }
    auto segments = read_table<Elf64_Phdr>(read_, header_.e_phoff, header_.e_phnum);
    auto sections = read_table<Elf64_Shdr>(read_, header_.e_shoff, header_.e_shnum);
    if (!segments || !sections) {
      return !segments ? propagate(segments) : propagate(sections);
    }
    segments_ = *std::move(segments);
    sections_ = *std::move(sections);
    return read_names();
  }

  Status read_names() {
    const Elf64_Shdr& section = sections_[header_.e_shstrndx];
    if (section.sh_size > kMaxNamesBytes) {
      return fail(ErrorCode::kTooLarge, "its section names have {} bytes", section.sh_size);
    }
    auto names = read_(section.sh_offset, section.sh_size);
    if (!names) {
      return propagate(names, "reading its section names");
    }
    names_ = *std::move(names);
    has_symbols_ = std::ranges::any_of(
        sections_, [](const Elf64_Shdr& one) { return one.sh_type == SHT_SYMTAB && one.sh_size > 0; });
    has_dwarf_ = std::ranges::any_of(sections_, [this](const Elf64_Shdr& one) {
      const std::string_view name = name_of_section(one);
      return one.sh_type != SHT_NOBITS && (name == ".debug_info" || name == ".zdebug_info");
    });
    for (const Elf64_Shdr& table : sections_) {
      if (is_kept_table(table)) {
        kept_names_.insert(table.sh_link);
      }
    }
    return {};
  }

  std::string_view name_of_section(const Elf64_Shdr& section) const {
    if (section.sh_name >= names_.size()) {
      return {};
    }
    const std::string_view rest = std::string_view(names_).substr(section.sh_name, kMaxNameBytes);
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
  }

  bool is_kept_table(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !has_symbols_);
  }

  bool is_kept(size_t number) const {
    const Elf64_Shdr& section = sections_[number];
    const std::string_view name = name_of_section(section);
    if (is_kept_table(section) || section.sh_type == SHT_SYMTAB_SHNDX || section.sh_type == SHT_NOTE ||
        name == ".gnu_debugdata" || name == ".gnu_debuglink" || name == ".gnu_debugaltlink" ||
        name == ".go.buildinfo") {
      return true;
    }
    if (section.sh_type == SHT_STRTAB) {
      return kept_names_.contains(number);
    }
    const bool takes_dwarf = part_ != BinaryPart::kSymbolsOnly;
    if (name.ends_with(".gopclntab")) {
      return takes_dwarf ? !has_dwarf_ : !has_symbols_;
    }
    return takes_dwarf && (section.sh_flags & SHF_ALLOC) == 0 &&
           (name.starts_with(".debug_") || name.starts_with(".zdebug_"));
  }

  // Notes have the build ID, also where no section says so. What other segments refer to is not where it was.
  void place_segment(Elf64_Phdr& segment) {
    const bool is_note = segment.p_type == PT_NOTE && segment.p_filesz > 0 &&
                         segment.p_filesz <= kMaxNotesBytes && segment.p_offset <= file_bytes_ &&
                         segment.p_filesz <= file_bytes_ - segment.p_offset && notes_++ < kMaxNotes;
    if (is_note) {
      const uint64_t offset = segment.p_offset;
      segment.p_offset = end_;
      add_piece(offset, segment.p_filesz);
    } else if (segment.p_type != PT_LOAD) {
      segment.p_type = PT_NULL;
    }
  }

  void add_piece(uint64_t file_offset, uint64_t bytes) {
    layout_.pieces.push_back({.bytes = {}, .file_offset = file_offset, .file_bytes = bytes});
    end_ += bytes;
    pad();
  }

  Status place(size_t number) {
    Elf64_Shdr& section = sections_[number];
    if (number == header_.e_shstrndx || section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) {
      return {};
    }
    if (!is_kept(number)) {
      const bool is_loaded = (section.sh_flags & SHF_ALLOC) != 0;
      section.sh_type = is_loaded ? uint32_t{SHT_NOBITS} : uint32_t{SHT_NULL};
      section.sh_offset = end_;
      section.sh_size = is_loaded ? section.sh_size : 0;
      return {};
    }
    if (section.sh_offset > file_bytes_ || section.sh_size > file_bytes_ - section.sh_offset) {
      return fail(ErrorCode::kCorrupt, "its section {} ends outside of the file", name_of_section(section));
    }
    // Damaged headers may list one place many times.
    if (section.sh_size > file_bytes_ - std::min(file_bytes_, kept_bytes_)) {
      return fail(ErrorCode::kCorrupt, "its sections have more bytes than the file");
    }
    kept_bytes_ += section.sh_size;
    if (section.sh_size > 0) {
      const uint64_t offset = section.sh_offset;
      section.sh_offset = end_;
      add_piece(offset, section.sh_size);
    }
    return {};
  }

  void pad() {
    if (const uint64_t over = end_ % kPieceAlignment; over != 0) {
      add_own(std::string(kPieceAlignment - over, '\0'));
    }
  }

  void add_own(std::string bytes) {
    end_ += bytes.size();
    layout_.pieces.push_back({.bytes = std::move(bytes)});
  }

  // And the names of sections, with that of the mark.
  void add_mark(std::string_view htl_hash) {
    Elf64_Shdr mark{};
    mark.sh_name = static_cast<uint32_t>(names_.size());
    mark.sh_type = SHT_PROGBITS;
    mark.sh_offset = end_;
    mark.sh_size = htl_hash.size();
    mark.sh_addralign = 1;
    add_own(std::string(htl_hash));
    names_.append(kMarkName).push_back('\0');
    Elf64_Shdr& names = sections_[header_.e_shstrndx];
    names.sh_offset = end_;
    names.sh_size = names_.size();
    names.sh_flags &= ~static_cast<Elf64_Xword>(SHF_COMPRESSED);
    add_own(names_);
    sections_.push_back(mark);
    pad();
  }

  const ReadAt& read_;
  const uint64_t file_bytes_;
  const BinaryPart part_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
  bool has_symbols_ = false;
  bool has_dwarf_ = false;
  std::set<size_t> kept_names_;  // numbers of sections with the names of symbols that are kept
  uint64_t end_ = 0;             // of what was placed so far
  uint64_t kept_bytes_ = 0;      // of sections
  int notes_ = 0;
  PartLayout layout_;
};

}  // namespace

std::string_view name_of(BinaryPart part) {
  return kPartNames[static_cast<size_t>(part)];
}

std::optional<BinaryPart> parse_binary_part(std::string_view name) {
  const auto* const found = std::ranges::find(kPartNames, name);
  return found == kPartNames.end() ? std::nullopt
                                   : std::optional(static_cast<BinaryPart>(found - kPartNames.begin()));
}

Result<PartLayout> lay_out_part(const ReadAt& read, uint64_t file_bytes, BinaryPart part,
                                std::string_view htl_hash) {
  if (part == BinaryPart::kWholeFile) {
    return PartLayout{.pieces = {{.bytes = {}, .file_offset = 0, .file_bytes = file_bytes}},
                      .size_bytes = file_bytes};
  }
  return PartMaker(read, file_bytes, part).make(htl_hash);
}

std::optional<std::string_view> whole_file_hash(const ElfFile& file) {
  const std::string_view hash = as_text(file.section_bytes(kMarkName));
  return hash.size() == kHashBytes ? std::optional(hash) : std::nullopt;
}

}  // namespace plimsoll::elf
