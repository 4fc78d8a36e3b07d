// The tokens that authenticate users: one table of [[access.tokens]] of the server's configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace plimsoll::config {

// A token that authenticates a user; only its hash is stored.
struct AccessToken {
  std::string name;
  std::string sha256;  // 64 hexadecimal digits, in lower case
  std::string role;
  std::string expires;  // as RFC 3339 has it; empty: never

  // kInvalid where it is no time.
  Result<int64_t> expires_ns() const;

  // The keys point into this object.
  std::vector<Key> keys();
};

// kInvalid where one of them has no name, no hash, no role that exists, or is listed twice.
Status check_tokens(const std::vector<AccessToken>& tokens);

}  // namespace plimsoll::config
