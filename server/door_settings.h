// What the doors for request traces and bursts may take, by the configuration.
#pragma once

#include <cstdint>

#include "config/server_config.h"
#include "server/doors/burst_door.h"
#include "server/doors/trace_door.h"

namespace plimsoll::server {

// Both refuse what comes while less than that is free on the disk.
TraceDoorOptions trace_door_options(const config::ServerConfig& config, int64_t min_free_bytes);
BurstDoorOptions burst_door_options(const config::ServerConfig& config, int64_t min_free_bytes);

}  // namespace plimsoll::server
