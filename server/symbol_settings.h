// From the server's configuration to its binaries: where they are looked for, how many are kept, and what symbolizer workers may do.
#pragma once

#include <cstdint>
#include <functional>

#include "config/server_config.h"
#include "symbolizer/lease/table_exchange.h"
#include "symbolizer/repository/repository.h"
#include "symbolizer/search/file_search.h"

namespace plimsoll::server {

// With the repository of binaries, where most of them are looked for first.
symbolizer::SymbolRoots symbol_roots(const config::ServerConfig& config);

symbolizer::RepositoryLimits repository_limits(const config::ServerConfig& config);

// `delivered` is called after each table of a worker. Such a table is bounded as one of the server's own process.
symbolizer::ExchangeSettings exchange_settings(const config::ServerConfig& config,
                                               std::function<void()> delivered);

}  // namespace plimsoll::server
