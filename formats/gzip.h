// Gzip (RFC 1952), as pprof profiles are compressed. Reading it is formats/decompress.h.
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::formats {

// One gzip member, whose header holds no time: equal content gives equal bytes. Up to 4 GiB.
Result<std::string> gzip(Bytes content);

}  // namespace plimsoll::formats
