#include "elf/loaded_image.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace plimsoll::elf {
namespace {

constexpr uint16_t kMaxProgramHeaders = 1024;
constexpr uint64_t kMaxNoteBytes = 64 << 10;
constexpr uint64_t kMaxEhFrameBytes = uint64_t{64} << 20;
constexpr uint16_t kMaxSections = 4096;

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
    if (offset > INT64_MAX || size_bytes > kMaxEhFrameBytes) {
      return fail(ErrorCode::kCorrupt, "{}: {} bytes at {} cannot be read", name, size_bytes, offset);
    }
    std::string bytes(static_cast<size_t>(size_bytes), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got =
          ::pread(fd->get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0) {
        return fail_errno(errno, "reading {}", name);
      }
      if (got == 0) {
        return fail(ErrorCode::kCorrupt, "{} ends before byte {}", name, offset + size_bytes);
      }
      done += static_cast<size_t>(got);
    }
    return bytes;
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
  section_count_ = std::min(header.e_shnum, kMaxSections);
  section_names_ = header.e_shstrndx;
  std::vector<Elf64_Phdr> notes;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = object_at<Elf64_Phdr>(*table, i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) {
      segments_.push_back({segment.p_type, (segment.p_flags & PF_X) != 0, segment.p_offset, segment.p_filesz,
                           segment.p_vaddr, segment.p_memsz});
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      eh_frame_hdr_ = segment.p_vaddr;
    } else if (segment.p_type == PT_NOTE) {
      notes.push_back(segment);
    }
  }
  if (header_address_ && !segments_.empty()) {
    // The header is the first byte of the file, which the first segment maps.
    bias_ = *header_address_ + segments_.front().file_offset - segments_.front().address;
  }
  for (const Elf64_Phdr& segment : notes) {
    read_notes(segment.p_vaddr, segment.p_filesz);
  }
  return {};
}

void LoadedImage::read_notes(uint64_t address, uint64_t size_bytes) {
  const auto notes = read(address, std::min(size_bytes, kMaxNoteBytes));
  if (!notes) {
    return;
  }
  if (build_id_.empty()) {
    build_id_ = find_build_id(as_bytes(*notes));
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
  return read_(header_address_ ? address + bias_ : segment->file_offset + (address - segment->address),
               size_bytes);
}

// .eh_frame_hdr: version, encodings of three fields, then the address of .eh_frame, relative to itself in practice (LSB
// Core, "The .eh_frame_hdr section").
Result<uint64_t> LoadedImage::eh_frame_address() const {
  constexpr uint8_t kPcRelativeSigned4 = 0x1b;
  if (eh_frame_hdr_ == 0) {
    return eh_frame_section();
  }
  const auto header = read(eh_frame_hdr_, 8);
  if (!header) {
    return propagate(header, "reading .eh_frame_hdr");
  }
  if (object_at<uint8_t>(*header, 0) != 1 || object_at<uint8_t>(*header, 1) != kPcRelativeSigned4) {
    return eh_frame_section();
  }
  return eh_frame_hdr_ + 4 + static_cast<uint64_t>(int64_t{object_at<int32_t>(*header, 4)});
}

uint64_t LoadedImage::eh_frame_section() const {
  if (header_address_ || section_headers_offset_ == 0 || section_names_ >= section_count_) {
    return 0;  // sections are not loaded
  }
  const auto table = read_(section_headers_offset_, uint64_t{section_count_} * sizeof(Elf64_Shdr));
  if (!table) {
    return 0;
  }
  const auto names_header = object_at<Elf64_Shdr>(*table, section_names_ * sizeof(Elf64_Shdr));
  const auto names = read_(names_header.sh_offset, std::min<uint64_t>(names_header.sh_size, 1 << 20));
  for (size_t i = 0; names && i < section_count_; ++i) {
    const auto section = object_at<Elf64_Shdr>(*table, i * sizeof(Elf64_Shdr));
    const std::string_view rest =
        std::string_view(*names).substr(std::min<size_t>(section.sh_name, names->size()));
    if (rest.starts_with(std::string_view(".eh_frame\0", 10)) && section.sh_size > 0) {
      return section.sh_addr;
    }
  }
  return 0;
}

Result<LoadedImage::EhFrame> LoadedImage::eh_frame() const {
  const auto address = eh_frame_address();
  if (!address) {
    return propagate(address);
  }
  if (*address == 0) {
    return EhFrame();
  }
  const Segment* const segment = segment_of(*address);
  if (segment == nullptr) {
    return fail(ErrorCode::kCorrupt, ".eh_frame at {:#x} lies outside what is loaded", *address);
  }
  auto bytes =
      read(*address, std::min(segment->file_bytes - (*address - segment->address), kMaxEhFrameBytes));
  if (!bytes) {
    return propagate(bytes, "reading .eh_frame");
  }
  return EhFrame{std::move(*bytes), *address};
}

}  // namespace plimsoll::elf
