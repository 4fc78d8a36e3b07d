// Tables of the server's configuration for what `plimsoll server --role` names, one table for each role.
#pragma once

#include <vector>

#include "config/server_config.h"
#include "config/settings.h"

namespace plimsoll::config {

// The keys of the table that the function is named after, in the order of the file. They point into `config`.
std::vector<Key> symbolizer_keys(ServerConfig& config);
std::vector<Key> ingest_keys(ServerConfig& config);
std::vector<Key> primary_keys(ServerConfig& config);

}  // namespace plimsoll::config
