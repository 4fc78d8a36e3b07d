// Tables of the server's configuration for the fleet: what machines collect and which of them are drawn for it, what is known of machines and
// jobs, heartbeats and connections of daemons, and the maximum size of their profiles.
#pragma once

#include <vector>

#include "config/server_config.h"
#include "config/settings.h"

namespace plimsoll::config {

// The keys of the table that the function is named after, in the order of the file. They point into `config`.
std::vector<Key> collect_keys(ServerConfig& config);
std::vector<Key> draw_keys(ServerConfig& config);
std::vector<Key> burst_keys(ServerConfig& config);  // of the table [bursts]
std::vector<Key> inventory_keys(ServerConfig& config);
std::vector<Key> fleet_keys(ServerConfig& config);
std::vector<Key> limits_keys(ServerConfig& config);

}  // namespace plimsoll::config
