// A part of a binary, in memory.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/binary_part.h"

namespace plimsoll::elf {

inline constexpr std::string_view kSampleHash = "hash of the file";  // of 16 bytes

inline Result<std::string> part_of(std::string_view file, BinaryPart part) {
  const auto layout = lay_out_part(read_at_of(as_bytes(file)), file.size(), part, kSampleHash);
  if (!layout) {
    return propagate(layout);
  }
  std::string made;
  for (const PartPiece& piece : layout->pieces) {
    made += piece.file_bytes == 0 ? std::string_view(piece.bytes)
                                  : file.substr(piece.file_offset, piece.file_bytes);
  }
  if (made.size() != layout->size_bytes) {
    return fail(ErrorCode::kCorrupt, "the pieces have {} bytes, not {}", made.size(), layout->size_bytes);
  }
  return made;
}

}  // namespace plimsoll::elf
