// What a process of `plimsoll server` does (--role).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace plimsoll::server {

enum class ServerRole : uint8_t {
  kServer,      // has the data directory (server/server.h)
  kSymbolizer,  // server/symbolizer_service.h
  kIngest,      // server/ingest_service.h
  kQuery,       // server/query_service.h
};

inline constexpr std::array<std::pair<std::string_view, ServerRole>, 4> kServerRoles{
    {{"server", ServerRole::kServer},
     {"symbolizer", ServerRole::kSymbolizer},
     {"ingest", ServerRole::kIngest},
     {"query", ServerRole::kQuery}}};

// For help and messages.
inline std::vector<std::string> server_role_names() {
  std::vector<std::string> names;
  for (const auto& [name, role] : kServerRoles) {
    names.emplace_back(name);
  }
  return names;
}

inline Result<ServerRole> parse_server_role(std::string_view text) {
  const auto known =
      std::ranges::find_if(kServerRoles, [text](const auto& named) { return named.first == text; });
  return known == kServerRoles.end()
             ? Result<ServerRole>(fail(ErrorCode::kInvalid, "no such role of a server: {}", text))
             : known->second;
}

}  // namespace plimsoll::server
