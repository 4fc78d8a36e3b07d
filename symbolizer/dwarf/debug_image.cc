#include "symbolizer/dwarf/debug_image.h"

#include <elf.h>
#include <elfutils/version.h>

#include <algorithm>
#include <bit>

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxDecompressedBytes = uint64_t{4} << 30;
// zlib makes at most 1032 bytes of one.
constexpr uint64_t kMaxCompressionRatio = 1032;

// The size that a compressed section says it has; 0 where it is not compressed.
Result<uint64_t> decompressed_size(Bytes content, const elf::Section& section) {
  ByteReader reader(content);
  if ((section.flags & SHF_COMPRESSED) != 0) {
    const auto header = reader.read<Elf64_Chdr>();
    if (header.ch_type != ELFCOMPRESS_ZLIB) {
      return fail(ErrorCode::kUnsupported,
                  "{} is compressed in a way (type {}{}) that libdw 0.{} cannot read", section.name,
                  header.ch_type, header.ch_type == 2 ? ", zstd" : "", _ELFUTILS_VERSION);
    }
    return header.ch_size;
  }
  if (section.name.starts_with(".zdebug") && as_text(reader.bytes(4)) == "ZLIB") {
    return std::byteswap(reader.read<uint64_t>());
  }
  return 0;
}

}  // namespace

void EndElf::operator()(Elf* elf) const {
  ::elf_end(elf);
}

void EndDwarf::operator()(Dwarf* dwarf) const {
  ::dwarf_end(dwarf);
}

std::string last_dwarf_error() {
  const char* const text = ::dwarf_errmsg(-1);
  return text == nullptr ? "unknown error" : text;
}

Status DebugImage::add_section(const elf::Section& section) {
  const bool is_debug = section.name.starts_with(".debug_") || section.name.starts_with(".zdebug_");
  if (section.name == ".gnu_debugaltlink") {
    needs_supplement_ = true;
  }
  if (!is_debug || section.type == SHT_NOBITS) {
    return {};
  }
  const auto content = slice(image_, section.file_offset, section.size_bytes, section.name);
  if (!content) {
    return propagate(content);
  }
  const auto size = decompressed_size(*content, section);
  if (!size) {
    return propagate(size);
  }
  decompressed_bytes_ += std::min(*size, kMaxDecompressedBytes);
  if (*size / kMaxCompressionRatio > section.size_bytes || decompressed_bytes_ > kMaxDecompressedBytes) {
    return fail(ErrorCode::kTooLarge, "{} says that it decompresses from {} to {} bytes", section.name,
                section.size_bytes, *size);
  }
  has_units_ = has_units_ || section.name.ends_with("debug_info");
  return {};
}

Result<DebugImage> DebugImage::check(std::span<std::byte> image, Role role) {
  auto file = elf::ElfFile::parse(image);
  if (!file) {
    return propagate(file);
  }
  if (role == Role::kMain && file->type() == ET_REL) {
    return fail(ErrorCode::kUnsupported, "it is not linked: the addresses in its DWARF are not final");
  }
  DebugImage checked(image, std::move(*file));
  for (const elf::Section& section : checked.file_.sections()) {
    if (auto added = checked.add_section(section); !added) {
      return propagate(added);
    }
  }
  if (!checked.has_units_) {
    return fail(ErrorCode::kNotFound, "no DWARF");
  }
  return checked;
}

Result<ElfHandle> DebugImage::open() const {
  ::elf_version(EV_CURRENT);
  ElfHandle elf(::elf_memory(reinterpret_cast<char*>(image_.data()), image_.size()));
  if (elf == nullptr) {
    return fail(ErrorCode::kCorrupt, "libelf: {}", ::elf_errmsg(-1));
  }
  return elf;
}

}  // namespace plimsoll::symbolizer
