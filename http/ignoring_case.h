// Names of header fields, hosts and types, in which case does not count (RFC 9110).
#pragma once

#include <strings.h>

#include <string_view>

namespace plimsoll::http {

// Of ASCII's letters.
inline bool is_same_ignoring_case(std::string_view a, std::string_view b) {
  // An absent field has no bytes at all, whose address strncasecmp() may not be given.
  return a.size() == b.size() && (a.empty() || ::strncasecmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace plimsoll::http
