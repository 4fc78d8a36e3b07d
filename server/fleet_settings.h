// From the server's configuration to what daemons are told.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/server_config.h"
#include "scheduler/assignments/drawer.h"
#include "scheduler/fleet_service.h"
#include "server/access/authenticator.h"
#include "store/directory/data_directory.h"

namespace plimsoll::server {

// Borrows the authenticator.
scheduler::FleetOptions fleet_options(const config::ServerConfig& config, Authenticator& authenticator);

// The authenticator, from the configuration and the data directory.
Result<std::unique_ptr<Authenticator>> open_authenticator(const config::ServerConfig& config,
                                                          const store::DataDirectory& directory);

// The same with connections to another access.db, of a process without a data directory.
Result<std::unique_ptr<Authenticator>> open_authenticator(const config::ServerConfig& config,
                                                          const std::string& access_path);

// Those of the configuration.
std::vector<KnownToken> known_tokens(const config::ServerConfig& config);

// kInvalid names the key of the draws that makes no sense; fine where machines are not drawn.
Status check_draws(const config::ServerConfig& config);

// That the draws are expected to cost more than draw.max_overhead_percent, so that drawn machines would be withheld regularly, with
// what to change; nothing where they are not, or where the share of machines that is drawn depends on the fleet's size.
std::optional<std::string> overhead_warning(const config::ServerConfig& config);

// What is stopped in this directory, whether machines are drawn or not.
Result<std::unique_ptr<scheduler::CollectionBreaker>> open_breaker(const config::ServerConfig& config,
                                                                   const store::DataDirectory& directory);

// Of the draws in this directory; null where the configuration wants none. kInvalid names the key that makes no sense.
Result<std::unique_ptr<scheduler::Drawer>> open_drawer(const config::ServerConfig& config,
                                                       const store::DataDirectory& directory,
                                                       scheduler::CollectionBreaker& breaker, int64_t now_ns);

}  // namespace plimsoll::server
