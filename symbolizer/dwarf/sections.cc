#include "symbolizer/dwarf/sections.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "elf/compressed_section.h"

namespace plimsoll::symbolizer {
namespace {

struct NamedSection {
  std::string_view name;  // without ".debug_" or ".zdebug_"
  Bytes DwarfSections::* member;
};

constexpr std::array kSections{
    NamedSection{"info", &DwarfSections::info},
    NamedSection{"abbrev", &DwarfSections::abbrev},
    NamedSection{"aranges", &DwarfSections::aranges},
    NamedSection{"line", &DwarfSections::line},
    NamedSection{"str", &DwarfSections::str},
    NamedSection{"line_str", &DwarfSections::line_str},
    NamedSection{"str_offsets", &DwarfSections::str_offsets},
    NamedSection{"addr", &DwarfSections::addr},
    NamedSection{"ranges", &DwarfSections::ranges},
    NamedSection{"rnglists", &DwarfSections::rnglists},
    NamedSection{"cu_index", &DwarfSections::cu_index},
};

constexpr std::string_view kPlain = ".debug_";
constexpr std::string_view kOldCompressed = ".zdebug_";
constexpr std::string_view kSplitSuffix = ".dwo";

// Which of them it is; null where it is none.
const NamedSection* find_section(std::string_view name, DwarfImage::Kind kind) {
  const bool is_index = name == ".debug_cu_index";
  if (name.starts_with(kPlain)) {
    name.remove_prefix(kPlain.size());
  } else if (name.starts_with(kOldCompressed)) {
    name.remove_prefix(kOldCompressed.size());
  } else {
    return nullptr;
  }
  if (kind == DwarfImage::Kind::kSplit && !is_index) {
    if (!name.ends_with(kSplitSuffix)) {
      return nullptr;
    }
    name.remove_suffix(kSplitSuffix.size());
  }
  const auto found = std::ranges::find(kSections, name, &NamedSection::name);
  return found == kSections.end() ? nullptr : &*found;
}

elf::Compression compression_of(const elf::Section& section) {
  if ((section.flags & SHF_COMPRESSED) != 0) {
    return elf::Compression::kHeader;
  }
  return section.name.starts_with(kOldCompressed) ? elf::Compression::kZlibMagic : elf::Compression::kNone;
}

}  // namespace

Result<Bytes> DwarfImage::content_of(const elf::Section& section, Bytes image) {
  const auto content = slice(image, section.file_offset, section.size_bytes, section.name);
  const elf::Compression compression = compression_of(section);
  if (!content || compression == elf::Compression::kNone) {
    return content;
  }
  auto decompressed = elf::decompress_section(*content, compression, decompressed_left_);
  if (!decompressed) {
    return propagate(decompressed, "{}", section.name);
  }
  decompressed_left_ -= decompressed->size();
  decompressed_.push_back(std::move(*decompressed));
  return as_bytes(decompressed_.back());
}

Result<DwarfImage> DwarfImage::open(Bytes image, Kind kind, uint64_t max_decompressed_bytes) {
  auto file = elf::ElfFile::parse(image);
  if (!file) {
    return propagate(file);
  }
  if (kind == Kind::kMain && file->type() == ET_REL) {
    return fail(ErrorCode::kUnsupported, "it is not linked: the addresses in its DWARF are not final");
  }
  DwarfImage opened(std::move(*file));
  opened.decompressed_left_ = max_decompressed_bytes;
  // Moving a short string would move its bytes.
  opened.decompressed_.reserve(kSections.size());
  for (const elf::Section& section : opened.file_.sections()) {
    const NamedSection* const known = find_section(section.name, kind);
    if (known == nullptr || section.type == SHT_NOBITS || !(opened.sections_.*known->member).empty()) {
      continue;
    }
    auto content = opened.content_of(section, image);
    if (!content) {
      return propagate(content);
    }
    opened.sections_.*known->member = *content;
  }
  if (opened.sections_.info.empty()) {
    return fail(ErrorCode::kNotFound, "no DWARF");
  }
  return opened;
}

}  // namespace plimsoll::symbolizer
