#include "http/sha256.h"

#include <gnutls/crypto.h>

#include "base/hex.h"

namespace plimsoll::http {

std::string sha256(Bytes bytes) {
  std::string hash(gnutls_hash_get_len(GNUTLS_DIG_SHA256), '\0');
  gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes.data(), bytes.size(), hash.data());
  return to_hex(hash);
}

}  // namespace plimsoll::http
