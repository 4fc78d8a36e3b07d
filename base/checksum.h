// Checksums against accidental damage, not against forgery.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"

namespace plimsoll {

// XXH3, 64 bits. Its value is part of our file formats.
uint64_t checksum64(Bytes bytes);

// XXH3, 128 bits, as 16 bytes in canonical (big-endian) order. Names a binary that has no build ID.
std::string content_hash(Bytes bytes);

}  // namespace plimsoll
