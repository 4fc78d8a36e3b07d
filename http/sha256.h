// SHA-256, where others want that hash: of tokens, and of bodies that are signed. Our own files have checksums (base/checksum.h).
#pragma once

#include <string>

#include "base/byte_reader.h"

namespace plimsoll::http {

// In hexadecimal, lower case.
std::string sha256(Bytes bytes);

}  // namespace plimsoll::http
