// The start of a segment file, as it lies on disk (little-endian): for its writer and its reader alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/checksum.h"

namespace plimsoll::store {

inline constexpr std::array<char, 8> kSegmentMagic{'P', 'L', 'I', 'M', 'S', 'E', 'G', 'M'};
inline constexpr uint32_t kSegmentVersion = 3;

struct SegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t chunks;
  uint64_t rows;
  uint64_t directory_checksum;
  uint64_t header_checksum;  // of the bytes before it
};

inline uint64_t checksum_of(const SegmentHeader& header) {
  return checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(SegmentHeader, header_checksum)));
}

}  // namespace plimsoll::store
