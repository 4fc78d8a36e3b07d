// Gzip (RFC 1952), as pprof profiles are compressed. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::formats {

// One gzip member, whose header holds no time: equal content gives equal bytes. Up to 4 GiB.
Result<std::string> gzip(Bytes content);

bool looks_gzipped(Bytes bytes);

// Inflates one gzip member, which must be all there is. The result never holds more than `max_bytes`, nor more than a
// plausible multiple of what came in: a few kilobytes cannot claim a gigabyte (kTooLarge).
Result<std::string> gunzip(Bytes compressed, uint64_t max_bytes);

}  // namespace plimsoll::formats
