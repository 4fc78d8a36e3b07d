// Any bytes as the body of a raw profile, for tests of what stands behind its checksum.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/checksum.h"

namespace plimsoll::wire {

inline std::string compressed(std::string_view message) {
  std::string body(ZSTD_compressBound(message.size()), '\0');
  body.resize(ZSTD_compress(body.data(), body.size(), message.data(), message.size(), 1));
  return body;
}

// `body` behind a header of version 1 with the right length and checksum.
inline std::string framed(std::string_view body) {
  std::string encoded = "PLIMPROF";
  const auto append = [&](uint64_t value) {
    encoded.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(1);  // version, and the reserved field above it
  append(body.size());
  append(checksum64(as_bytes(body)));
  return encoded.append(body);
}

}  // namespace plimsoll::wire
