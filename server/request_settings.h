// From the server's configuration to what requests of clients may take: threads, time, memory, connections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/server_config.h"
#include "http/request_pools.h"
#include "server/annotate_api.h"
#include "server/profile_api.h"
#include "server/query_api.h"
#include "symbolizer/process/table_process.h"

namespace plimsoll::server {

// Threads of questions, and how many may wait for one.
http::PoolOptions question_pools(const config::ServerConfig& config);

QueryLimits query_limits(const config::ServerConfig& config);

ProfileSettings profile_settings(const config::ServerConfig& config, symbolizer::TableWorker worker);

// kInvalid where sources.roots makes no sense.
Result<AnnotateSettings> annotate_settings(const config::ServerConfig& config,
                                           symbolizer::TableWorker worker);

// Raises this process's limit of open files where so many connections of daemons need it. kTooLarge where the limit cannot be raised so far.
Status allow_connections(int64_t connections);

// This machine's name with and without its domain, and what the configuration adds.
std::vector<std::string> names_of_server(const config::ServerConfig& config);

}  // namespace plimsoll::server
