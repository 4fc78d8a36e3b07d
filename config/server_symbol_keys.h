// Tables of the server's configuration for names of code: where symbols, source files and binaries are read from, and what is kept of them.
#pragma once

#include <vector>

#include "config/server_config.h"
#include "config/settings.h"

namespace plimsoll::config {

// The keys of the table that the function is named after, in the order of the file. They point into `config`.
std::vector<Key> symbols_keys(ServerConfig& config);
std::vector<Key> sources_keys(ServerConfig& config);
std::vector<Key> binaries_keys(ServerConfig& config);

}  // namespace plimsoll::config
