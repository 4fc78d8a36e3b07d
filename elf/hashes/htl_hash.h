// By which OTLP profilers name a file (process.executable.build_id.htlhash).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_reader.h"

namespace plimsoll::elf {

// Of a file its first and its last bytes are hashed: so many, or all where it has fewer.
inline constexpr size_t kHtlHashedBytes = 4096;

// The first 16 bytes of the SHA-256 of the first 4096 bytes, the last 4096 bytes, and the length as a big-endian number of 64 bits. Empty where
// it cannot be computed.
std::string htl_hash(std::string_view first, std::string_view last, uint64_t size_bytes);

// Of a whole file.
std::string htl_hash(Bytes image);

}  // namespace plimsoll::elf
