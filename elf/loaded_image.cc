#include "elf/loaded_image.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace plimsoll::elf {
namespace {

constexpr uint16_t kMaxProgramHeaders = 1024;
constexpr uint64_t kMaxNoteBytes = 64 << 10;
constexpr uint64_t kMaxReadBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxInflatedBytes = uint64_t{32} << 20;
constexpr uint16_t kMaxLoadedSections = 4096;

// The part of what `read` reads that begins at `start`.
ReadAt part_of(ReadAt read, uint64_t start, uint64_t size_bytes) {
  return [read = std::move(read), start, size_bytes](uint64_t offset,
                                                     uint64_t part_bytes) -> Result<std::string> {
    if (offset > size_bytes || part_bytes > size_bytes - offset || start > UINT64_MAX - size_bytes) {
      return fail(ErrorCode::kCorrupt, "{} bytes at {} lie outside a section of {} bytes", part_bytes, offset,
                  size_bytes);
    }
    return read(start + offset, part_bytes);
  };
}

template <typename T>
T object_at(const std::string& bytes, size_t offset) {
  return ByteReader(as_bytes(bytes).subspan(std::min(offset, bytes.size()))).read<T>();
}

}  // namespace

ReadAt read_at_of(Bytes file) {
  return [file](uint64_t offset, uint64_t size_bytes) -> Result<std::string> {
    const auto part = slice(file, offset, size_bytes, "part of an image");
    return part ? Result<std::string>(as_text(*part)) : propagate(part);
  };
}

ReadAt read_at_of(std::shared_ptr<const UniqueFd> fd, std::string name) {
  return [fd = std::move(fd), name = std::move(name)](uint64_t offset,
                                                      uint64_t size_bytes) -> Result<std::string> {
    if (offset > INT64_MAX || size_bytes > kMaxReadBytes) {
      return fail(ErrorCode::kCorrupt, "{}: {} bytes at {} cannot be read", name, size_bytes, offset);
    }
    return plimsoll::read_at(*fd, name, offset, size_bytes);
  };
}

Result<LoadedImage> LoadedImage::from_file(ReadAt read) {
  LoadedImage image(std::move(read), std::nullopt);
  auto headers = image.read_headers();
  return headers ? Result<LoadedImage>(std::move(image)) : propagate(headers);
}

Result<LoadedImage> LoadedImage::from_memory(ReadAt read, uint64_t header_address) {
  LoadedImage image(std::move(read), header_address);
  auto headers = image.read_headers();
  return headers ? Result<LoadedImage>(std::move(image)) : propagate(headers);
}

Status LoadedImage::read_headers() {
  const uint64_t start = header_address_.value_or(0);
  const auto header_bytes = read_(start, sizeof(Elf64_Ehdr));
  if (!header_bytes) {
    return propagate(header_bytes, "reading the ELF header");
  }
  const auto header = object_at<Elf64_Ehdr>(*header_bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorCode::kUnsupported, "not a 64-bit little-endian ELF file");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxProgramHeaders) {
    return fail(ErrorCode::kCorrupt, "{} ELF program headers of {} bytes", header.e_phnum,
                header.e_phentsize);
  }
  const auto table = read_(start + header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (!table) {
    return propagate(table, "reading the ELF program headers");
  }
  section_headers_offset_ = header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shoff : 0;
  section_count_ = std::min(header.e_shnum, kMaxLoadedSections);
  section_names_ = header.e_shstrndx;
  std::vector<Elf64_Phdr> notes;
  bool is_program = header.e_type == ET_EXEC;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = object_at<Elf64_Phdr>(*table, i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) {
      segments_.push_back({segment.p_type, (segment.p_flags & PF_X) != 0, segment.p_offset, segment.p_filesz,
                           segment.p_vaddr, segment.p_memsz});
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      eh_frame_hdr_ = segment.p_vaddr;
    } else if (segment.p_type == PT_INTERP) {
      is_program = true;
    } else if (segment.p_type == PT_NOTE) {
      notes.push_back(segment);
    }
  }
  if (header_address_ && !segments_.empty()) {
    // The header is the first byte of the file, which the first segment maps.
    bias_ = *header_address_ + segments_.front().file_offset - segments_.front().address;
  }
  for (const Elf64_Phdr& segment : notes) {
    read_notes(segment.p_vaddr, segment.p_offset, segment.p_filesz);
  }
  if (is_program || takes_initial_stack(header.e_entry)) {
    entry_point_ = header.e_entry;
  }
  return {};
}

// Linkers give shared libraries an entry point as well, where other code lies. The dynamic linker's hands the stack that the
// kernel made to its first function: "mov rdi, rsp".
bool LoadedImage::takes_initial_stack(uint64_t entry_point) const {
  constexpr uint64_t kFirstBytes = 16;
  const auto code = entry_point == 0 ? Result<std::string>(std::string()) : read(entry_point, kFirstBytes);
  return code && code->find("\x48\x89\xe7") != std::string::npos;
}

// In a file by offset, as ElfFile reads them, so that both find the same build ID.
void LoadedImage::read_notes(uint64_t address, uint64_t file_offset, uint64_t size_bytes) {
  const uint64_t read_bytes = std::min(size_bytes, kMaxNoteBytes);
  const auto notes = header_address_ ? read(address, read_bytes) : read_(file_offset, read_bytes);
  if (!notes) {
    return;
  }
  if (build_id_.empty()) {
    build_id_ = find_build_id(as_bytes(*notes));
  }
  // Owner and type of systemd's "package metadata for executable files".
  if (package_metadata_.empty()) {
    package_metadata_ = find_note(as_bytes(*notes), std::string_view("FDO\0", 4), 0xcafe1a7e);
  }
  // Owner and type of cmd/link's note (ELF_NOTE_GOBUILDID_TAG).
  is_go_ = is_go_ || !find_note(as_bytes(*notes), std::string_view("Go\0\0", 4), 4).empty();
}

const Segment* LoadedImage::segment_of(uint64_t address) const {
  const auto found = std::ranges::find_if(segments_, [&](const Segment& segment) {
    return address >= segment.address && address - segment.address < segment.file_bytes;
  });
  return found == segments_.end() ? nullptr : &*found;
}

Result<std::string> LoadedImage::read(uint64_t address, uint64_t size_bytes) const {
  const Segment* const segment = segment_of(address);
  if (segment == nullptr || size_bytes > segment->file_bytes - (address - segment->address)) {
    return fail(ErrorCode::kCorrupt, "{} bytes at ELF address {:#x} lie outside what is loaded", size_bytes,
                address);
  }
  return read_(place_of(address, *segment), size_bytes);
}

// .eh_frame_hdr: version, encodings of three fields, then the address of .eh_frame, relative to itself in practice (LSB
// Core, "The .eh_frame_hdr section").
Result<uint64_t> LoadedImage::eh_frame_address() const {
  constexpr uint8_t kPcRelativeSigned4 = 0x1b;
  const auto section_address = [this] { return find_section(".eh_frame").value_or(Section()).address; };
  if (eh_frame_hdr_ == 0) {
    return section_address();
  }
  const auto header = read(eh_frame_hdr_, 8);
  if (!header) {
    return propagate(header, "reading .eh_frame_hdr");
  }
  if (object_at<uint8_t>(*header, 0) != 1 || object_at<uint8_t>(*header, 1) != kPcRelativeSigned4) {
    return section_address();
  }
  return eh_frame_hdr_ + 4 + static_cast<uint64_t>(int64_t{object_at<int32_t>(*header, 4)});
}

std::optional<LoadedImage::Section> LoadedImage::find_section(std::string_view name) const {
  if (header_address_ || section_headers_offset_ == 0 || section_names_ >= section_count_) {
    return std::nullopt;
  }
  const auto table = read_(section_headers_offset_, uint64_t{section_count_} * sizeof(Elf64_Shdr));
  if (!table) {
    return std::nullopt;
  }
  const auto names_header = object_at<Elf64_Shdr>(*table, section_names_ * sizeof(Elf64_Shdr));
  const auto names = read_(names_header.sh_offset, std::min<uint64_t>(names_header.sh_size, 1 << 20));
  for (size_t i = 0; names && i < section_count_; ++i) {
    const auto section = object_at<Elf64_Shdr>(*table, i * sizeof(Elf64_Shdr));
    const std::string_view rest =
        std::string_view(*names).substr(std::min<size_t>(section.sh_name, names->size()));
    if (rest.substr(0, rest.find('\0')) == name && section.sh_size > 0 && section.sh_type != SHT_NOBITS) {
      return Section{section.sh_addr, section.sh_offset, section.sh_size,
                     (section.sh_flags & SHF_COMPRESSED) != 0 ? Compression::kHeader : Compression::kNone};
    }
  }
  return std::nullopt;
}

Result<std::string> LoadedImage::bytes_of(const Section& section, Compression compression,
                                          uint64_t max_bytes) const {
  auto bytes = read_(section.file_offset, section.size_bytes);
  return bytes && compression != Compression::kNone
             ? decompress_section(as_bytes(*bytes), compression, max_bytes)
             : bytes;
}

Result<std::string> LoadedImage::section_bytes(std::string_view name, uint64_t max_bytes) const {
  const auto section = find_section(name);
  if (!section) {
    return fail(ErrorCode::kNotFound, "no section {}", name);
  }
  if (section->size_bytes > max_bytes) {
    return fail(ErrorCode::kTooLarge, "{} of {} bytes; at most {} are read", name, section->size_bytes,
                max_bytes);
  }
  return bytes_of(*section, section->compression, max_bytes);
}

Status LoadedImage::add_debug_frame(std::vector<CallFrames>& sections) const {
  auto section = find_section(".debug_frame");
  const bool is_old = !section;
  section = is_old ? find_section(".zdebug_frame") : section;
  if (!section) {
    return {};
  }
  const auto compression = is_old ? Compression::kZlibMagic : section->compression;
  CallFrames frames{
      .format = CallFrames::Format::kDebugFrame, .size_bytes = section->size_bytes, .is_go = is_go_};
  frames.read = part_of(read_, section->file_offset, section->size_bytes);
  if (compression != Compression::kNone) {
    auto plain = bytes_of(*section, compression, kMaxInflatedBytes);
    if (!plain) {
      return propagate(plain, "reading .debug_frame");
    }
    frames.size_bytes = plain->size();
    frames.read = [kept = std::make_shared<const std::string>(std::move(*plain))](uint64_t offset,
                                                                                  uint64_t size_bytes) {
      return read_at_of(as_bytes(*kept))(offset, size_bytes);
    };
  }
  sections.push_back(std::move(frames));
  return {};
}

Result<std::vector<CallFrames>> LoadedImage::call_frames() const {
  std::vector<CallFrames> sections;
  const auto address = eh_frame_address();
  if (!address) {
    return propagate(address);
  }
  if (*address != 0) {
    const Segment* const segment = segment_of(*address);
    if (segment == nullptr) {
      return fail(ErrorCode::kCorrupt, ".eh_frame at {:#x} lies outside what is loaded", *address);
    }
    const uint64_t size_bytes = segment->file_bytes - (*address - segment->address);
    sections.push_back({.format = CallFrames::Format::kEhFrame,
                        .read = part_of(read_, place_of(*address, *segment), size_bytes),
                        .size_bytes = size_bytes,
                        .address = *address});
  }
  auto added = add_debug_frame(sections);
  return added || !sections.empty() ? Result<std::vector<CallFrames>>(std::move(sections)) : propagate(added);
}

}  // namespace plimsoll::elf
