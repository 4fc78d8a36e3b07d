// Sections whose bytes are compressed in the file (gABI, "Section Compression"; ".zdebug_" names before that).
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::elf {

enum class Compression {
  kNone,
  kHeader,     // SHF_COMPRESSED: an Elf64_Chdr says how
  kZlibMagic,  // "ZLIB" and the size, then a zlib stream
};

// The section's own bytes. kTooLarge where they would be more than `max_bytes`, kUnsupported for an algorithm that is neither
// zlib nor zstd.
Result<std::string> decompress_section(Bytes bytes, Compression compression, uint64_t max_bytes);

}  // namespace plimsoll::elf
