// debuginfod servers as an operator names them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::symbolizer {

struct DebuginfodServer {
  std::string base_url;  // "https://debuginfod.example.org/prefix", without a '/' at its end
  std::string origin;    // "https://debuginfod.example.org"
};

// http:// and https:// URLs. kInvalid for others: with a user name, a query or a fragment, with characters that URLs do not have, or named twice.
Result<std::vector<DebuginfodServer>> parse_debuginfod_servers(const std::vector<std::string>& urls);

// Where a redirect leads.
struct RedirectTarget {
  std::string origin;
  std::string path_and_query;
};

// `location` as an answer of the server at that origin has it: a path, or a URL of one of the servers. Nothing for all others: no request goes to
// a host that the operator has not named. Hosts are compared as they are written.
std::optional<RedirectTarget> permitted_redirect(std::string_view location, const std::string& origin,
                                                 const std::vector<DebuginfodServer>& servers);

}  // namespace plimsoll::symbolizer
