// The part of an executable or shared library that symbols are read from: what a machine sends in place of the whole file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"
#include "elf/loaded_image.h"

namespace plimsoll::elf {

// How much of a file; each has what the one before it has.
enum class BinaryPart : uint8_t {
  kSymbolsOnly,    // names of functions, and the build ID
  kDebugSections,  // and DWARF: files, lines, inlined calls
  kWholeFile,      // and its code
};

// "symbols", "debug", "code".
std::string_view name_of(BinaryPart part);
// Nothing for other text.
std::optional<BinaryPart> parse_binary_part(std::string_view name);

// A run of a part's bytes: its own, or some of the file's.
struct PartPiece {
  std::string bytes = {};
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;  // 0: `bytes` are those of this piece
};

struct PartLayout {
  std::vector<PartPiece> pieces;  // in their order
  uint64_t size_bytes = 0;        // all of them
};

// A separate debug file, as of `objcopy --only-keep-debug`, of the file of `file_bytes` that `read` reads. All sections keep their numbers, names and
// addresses; those that are left out have no content (SHT_NOBITS, SHT_NULL), and program headers stay as they are, so that file offsets of the
// whole file are still found. Without a table of symbols the exported ones are kept, and Go's table of functions without one of symbols or DWARF. A last
// section tells that it is a part, and holds `htl_hash`, the name that OpenTelemetry has for the whole file.
//
// Reads headers and section names alone, which are not trusted: kUnsupported for a file without section headers, kCorrupt for a damaged one. The same
// file gives the same bytes. Any thread.
Result<PartLayout> lay_out_part(const ReadAt& read, uint64_t file_bytes, BinaryPart part,
                                std::string_view htl_hash);

// The `htl_hash` of the whole file, where this is a part that lay_out_part() has made; nothing of other files.
std::optional<std::string_view> whole_file_hash(const ElfFile& file);

}  // namespace plimsoll::elf
