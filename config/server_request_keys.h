// Tables of the server's configuration for requests: the addresses that it listens on, who may send requests, and how many of them at once.
#pragma once

#include <vector>

#include "config/server_config.h"
#include "config/settings.h"

namespace plimsoll::config {

// The keys of the table that the function is named after, in the order of the file. They point into `config`.
std::vector<Key> server_keys(ServerConfig& config);
std::vector<Key> access_keys(ServerConfig& config);
std::vector<Key> query_keys(ServerConfig& config);

}  // namespace plimsoll::config
