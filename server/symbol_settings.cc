#include "server/symbol_settings.h"

#include <utility>

#include "symbolizer/process/confinement.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::server {

symbolizer::SymbolRoots symbol_roots(const config::ServerConfig& config) {
  return {config.symbol_roots, symbolizer::with_repository(config.symbol_debug_roots, config.data_dir)};
}

symbolizer::RepositoryLimits repository_limits(const config::ServerConfig& config) {
  return {.max_bytes = static_cast<uint64_t>(config.binaries_max_bytes),
          .max_file_bytes = static_cast<uint64_t>(config.binaries_max_file_bytes),
          .max_age_ns = config.binaries_max_age_ns};
}

symbolizer::ExchangeSettings exchange_settings(const config::ServerConfig& config,
                                               std::function<void()> delivered) {
  return {.limits = {.lease_ns = config.symbol_worker_lease_ns, .grace_ns = config.symbol_worker_grace_ns},
          .roots = symbol_roots(config),
          .max_table_bytes = symbolizer::ProcessLimits().table_bytes,
          .delivered = std::move(delivered)};
}

}  // namespace plimsoll::server
