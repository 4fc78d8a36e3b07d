#include "base/checksum.h"

#include <xxhash.h>

namespace plimsoll {

uint64_t checksum64(Bytes bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string content_hash(Bytes bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

}  // namespace plimsoll
