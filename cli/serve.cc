#include <csignal>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/symbol_tables.h"
#include "config/server_config.h"
#include "server/memory/memory.h"
#include "server/server.h"
#include "server/symbolizer_service.h"

namespace plimsoll::cli {

namespace {

Result<config::ServerConfig> read_config(const ServerOptions& options) {
  config::LoadInputs inputs;
  if (!options.config_path.empty()) {
    inputs.path = options.config_path;
  }
  inputs.flags = options.flags;
  auto loaded = config::load_server_config(inputs);
  return loaded ? std::move(loaded) : propagate(loaded, "reading the configuration");
}

void reload(server::Server& server, const ServerOptions& options) {
  const auto config = read_config(options);
  const Status done = config ? server.reload(*config) : propagate(config);
  if (done) {
    log_info("reloaded tokens and certificates; other keys apply after a restart");
  } else {
    log_error("reloading: {}", done.error().text());
  }
}

// Blocked before any thread is made, so that only sigwait() takes them.
sigset_t block_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Status run_symbolizer(const config::ServerConfig& config, const sigset_t& signals) {
  auto service = server::SymbolizerService::start(config, table_worker());
  if (!service) {
    return propagate(service);
  }
  log_info("making symbol tables for {}; health on http://{}", config.symbolizer_server,
           (*service)->address());
  int signal_number = 0;
  while (::sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) {
    log_info("a symbolizer reads its configuration when it starts: restart it");
  }
  log_info("stopping");
  (*service)->stop();
  return {};
}

}  // namespace

Status run_server(const ServerOptions& options) {
  const auto loaded = read_config(options);
  if (!loaded) {
    return propagate(loaded);
  }
  const sigset_t signals = block_signals();
  if (options.role == "symbolizer") {
    return run_symbolizer(*loaded, signals);
  }
  server::reserve_little_memory();
  auto server = server::Server::start(*loaded, table_worker(),
                                      {.profiles = profile_worker(), .annotations = annotate_worker()});
  if (!server) {
    return propagate(server);
  }
  const char* const scheme = loaded->certificate.empty() ? "http" : "https";
  log_info("data in {}; API on {}://{}, daemons on {}://{}", loaded->data_dir, scheme, (*server)->address(),
           scheme, (*server)->fleet_address());
  int signal_number = 0;
  while (::sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) {
    reload(**server, options);
  }
  log_info("stopping");
  (*server)->stop();
  return {};
}

}  // namespace plimsoll::cli
