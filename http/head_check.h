// Checks of the head of a request, for every client: before its route is looked up, and before authentication.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace plimsoll::http {

struct HeadRules {
  // Names that a client may have called this server by, besides addresses and localhost; absent: any. Without authentication, a
  // page on the Internet must not reach a server on loopback under a name of its own (DNS rebinding), and read its answers.
  std::optional<std::vector<std::string>> hosts = {};
  // Takes bodies of the types that any page may send, too: for what stands in for another program's server, and changes nothing.
  bool allow_simple_types = false;
};

// Why the request is refused, after which the connection is to be closed; nothing: it is not. Two readers of one head must agree where its
// body ends (RFC 9112, 6.3), so that lengths that differ are refused, as is a length with another coding; HTTP/1.1 names its host, once;
// what changes something comes from no other site's page (Origin, Sec-Fetch-Site, RFC 6454) and in none of the types of body that
// any page may send (the Fetch standard's simple types). `version` as in "HTTP/1.1".
std::optional<Response> refusal_of_head(const Request& request, std::string_view version,
                                        const HeadRules& rules);

}  // namespace plimsoll::http
