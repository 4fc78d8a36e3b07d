#include "elf/hashes/htl_hash.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <array>

namespace plimsoll::elf {
namespace {

constexpr size_t kHtlHashBytes = 16;

}  // namespace

std::string htl_hash(std::string_view first, std::string_view last, uint64_t size_bytes) {
  std::string hashed(first);
  hashed += last;
  for (int shift = 56; shift >= 0; shift -= 8) {
    hashed += static_cast<char>((size_bytes >> static_cast<unsigned>(shift)) & 0xffU);
  }
  std::array<char, 32> digest{};
  if (::gnutls_hash_fast(GNUTLS_DIG_SHA256, hashed.data(), hashed.size(), digest.data()) != 0) {
    return {};
  }
  return {digest.data(), kHtlHashBytes};
}

std::string htl_hash(Bytes image) {
  const size_t end_bytes = std::min(image.size(), kHtlHashedBytes);
  return htl_hash(as_text(image.first(end_bytes)), as_text(image.last(end_bytes)), image.size());
}

}  // namespace plimsoll::elf
