#include <csignal>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/symbol_tables.h"
#include "config/server_config.h"
#include "server/server.h"

namespace plimsoll::cli {

Status run_server(const ServerOptions& options) {
  config::LoadInputs inputs;
  if (!options.config_path.empty()) {
    inputs.path = options.config_path;
  }
  inputs.flags = options.flags;
  const auto loaded = config::load_server_config(inputs);
  if (!loaded) {
    return propagate(loaded, "reading the configuration");
  }
  // Blocked before any thread is made, so that only sigwait() below takes them.
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto server = server::Server::start(*loaded, table_worker());
  if (!server) {
    return propagate(server);
  }
  const char* const scheme = loaded->certificate.empty() ? "http" : "https";
  log_info("data in {}; people on {}://{}, daemons on {}://{}", loaded->data_dir, scheme,
           (*server)->address(), scheme, (*server)->fleet_address());
  int signal_number = 0;
  ::sigwait(&signals, &signal_number);
  log_info("stopping");
  (*server)->stop();
  return {};
}

}  // namespace plimsoll::cli
