// `plimsoll config check`: what a configuration that reads well would fail or surprise with once a server starts with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/server_config.h"
#include "server/server_role.h"

namespace plimsoll::server {

struct ConfigFinding {
  std::string key;        // of the configuration
  bool is_error = false;  // the server would not start; else it would, and not as may be meant
  std::string what = {};  // with what to do
};

// Of the keys that a process of this role uses. Reads the files that the configuration names and resolves its addresses; takes no port and no
// lock, writes nothing, and asks no other machine: an inventory at a URL is not fetched. Safe beside a running server.
std::vector<ConfigFinding> check_config(const config::ServerConfig& config, ServerRole role, int64_t now_ns);

}  // namespace plimsoll::server
