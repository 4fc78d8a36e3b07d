#include "symbolizer/repository/binary_facts.h"

#include <elf.h>

#include <algorithm>

#include "base/checksum.h"
#include "elf/binary_part.h"
#include "elf/build_id.h"
#include "elf/elf_file.h"
#include "elf/hashes/htl_hash.h"
#include "symbolizer/repository/source_archive.h"

namespace plimsoll::symbolizer {
namespace {

bool has_section(const elf::ElfFile& file, std::string_view name) {
  return !file.section_bytes(name).empty();
}

// Without their names, which a hostile file makes arbitrarily long.
bool has_functions(const elf::ElfFile& file, uint32_t section_type) {
  const auto table = std::ranges::find(file.sections(), section_type, &elf::Section::type);
  if (table == file.sections().end() || table->link >= file.sections().size() ||
      table->entry_bytes != sizeof(Elf64_Sym)) {
    return false;
  }
  ByteReader reader(file.bytes_of(*table));
  while (reader.remaining() >= sizeof(Elf64_Sym)) {
    const auto symbol = reader.read<Elf64_Sym>();
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC)) {
      return true;
    }
  }
  return false;
}

store::SymbolQuality quality_of(const elf::ElfFile& file) {
  if (has_section(file, ".debug_info") || has_section(file, ".zdebug_info")) {
    return store::SymbolQuality::kFull;
  }
  // Go programs keep functions and lines for stack traces.
  if (has_section(file, ".debug_line") || has_section(file, ".zdebug_line") ||
      has_section(file, ".gopclntab")) {
    return store::SymbolQuality::kLines;
  }
  if (has_functions(file, SHT_SYMTAB) || has_section(file, ".gnu_debugdata")) {
    return store::SymbolQuality::kSymtab;
  }
  return has_functions(file, SHT_DYNSYM) ? store::SymbolQuality::kDynsym : store::SymbolQuality::kNone;
}

// The table of sections is mostly at the end: a file that was cut lacks it, and the reader takes the rest for a file without sections.
Status expect_whole(Bytes image, std::string_view name) {
  ByteReader reader(image);
  const auto header = reader.read<Elf64_Ehdr>();
  const uint64_t sections = std::max<uint64_t>(header.e_shnum, 1);
  const uint64_t table_bytes = sections * header.e_shentsize;
  const bool is_whole =
      header.e_shoff == 0 || (header.e_shoff <= image.size() && table_bytes <= image.size() - header.e_shoff);
  return reader.ok() && is_whole
             ? Status()
             : fail(ErrorCode::kCorrupt, "{} is incomplete: its section headers are missing", name);
}

// Code that was left out is the sign of a debug file; a supplementary file of dwz has no code at all.
BinaryKind kind_of(const elf::ElfFile& file) {
  if (elf::whole_file_hash(file)) {
    return BinaryKind::kDebug;
  }
  bool has_code = file.sections().empty();
  for (const elf::Section& section : file.sections()) {
    if ((section.flags & SHF_EXECINSTR) != 0) {
      if (section.type == SHT_NOBITS) {
        return BinaryKind::kDebug;
      }
      has_code = true;
    }
  }
  const bool has_dwarf = has_section(file, ".debug_info") || has_section(file, ".zdebug_info");
  return !has_code && has_dwarf ? BinaryKind::kDebug : BinaryKind::kExecutable;
}

}  // namespace

std::string_view name_of(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kExecutable:
      return "executable";
    case BinaryKind::kDebug:
      return "debug";
    case BinaryKind::kSources:
      return "sources";
  }
  return "";
}

Result<BinaryFacts> examine_binary(Bytes image, std::string_view name) {
  const auto file = elf::ElfFile::parse(image);
  if (!file) {
    return propagate(file, "reading {}", name);
  }
  if (const Status whole = expect_whole(image, name); !whole) {
    return propagate(whole);
  }
  const std::string_view build_id = elf::build_id_or_none(file->build_id());
  if (build_id.empty()) {
    return with_hint(fail(ErrorCode::kUnsupported, "{} has no build ID", name),
                     "link it with -Wl,--build-id (Go 1.21 and later: -ldflags='-B gobuildid')");
  }
  if (build_id.size() < kMinBuildIdBytes || build_id.size() > kMaxBuildIdBytes) {
    return fail(ErrorCode::kUnsupported, "{} has a build ID of {} bytes; {} to {} are supported", name,
                build_id.size(), kMinBuildIdBytes, kMaxBuildIdBytes);
  }
  const auto whole_hash = elf::whole_file_hash(*file);
  return BinaryFacts{.build_id = std::string(build_id),
                     .kind = kind_of(*file),
                     .quality = quality_of(*file),
                     .size_bytes = image.size(),
                     .content_hash = content_hash(image),
                     .htl_hash = whole_hash ? std::string(*whole_hash) : elf::htl_hash(image),
                     .is_part = whole_hash.has_value()};
}

Result<BinaryFacts> examine_file(Bytes image, std::string_view build_id, std::string_view name) {
  if (!is_source_archive(image)) {
    return examine_binary(image, name);
  }
  if (build_id.size() < kMinBuildIdBytes || build_id.size() > kMaxBuildIdBytes) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "{} is an archive of sources, and no build ID is given", name),
                   "build_id"),
        "give the build ID of the binary that was built of them");
  }
  if (const auto sources = SourceArchive::parse(image); !sources) {
    return propagate(sources, "reading {}", name);
  }
  return BinaryFacts{.build_id = std::string(build_id),
                     .kind = BinaryKind::kSources,
                     .size_bytes = image.size(),
                     .content_hash = content_hash(image),
                     .htl_hash = elf::htl_hash(image)};
}

}  // namespace plimsoll::symbolizer
