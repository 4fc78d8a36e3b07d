#include <unistd.h>

#include <csignal>
#include <ctime>
#include <memory>

#include "base/log.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/symbol_tables.h"
#include "config/server_config.h"
#include "server/ingest_service.h"
#include "server/memory/memory.h"
#include "server/query_service.h"
#include "server/server.h"
#include "server/standby.h"
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

// Of a server or a query server.
template <typename Reloaded>
void reload(Reloaded& server, const ServerOptions& options) {
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

Status run_ingest(const config::ServerConfig& config, const sigset_t& signals) {
  server::reserve_little_memory();
  auto service = server::IngestService::start(config);
  if (!service) {
    return propagate(service);
  }
  const char* const scheme = config.certificate.empty() ? "http" : "https";
  log_info("forwarding what daemons send to {}; daemons on {}://{}, health on {}://{}", config.ingest_server,
           scheme, (*service)->fleet_address(), scheme, (*service)->address());
  int signal_number = 0;
  while (::sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) {
    if (const Status done = (*service)->reload(); done) {
      log_info("reloaded certificates; the configuration applies after a restart");
    } else {
      log_error("reloading: {}", done.error().text());
    }
  }
  log_info("stopping");
  (*service)->stop();
  return {};
}

Status run_query(const config::ServerConfig& config, const ServerOptions& options, const sigset_t& signals) {
  server::reserve_little_memory();
  auto service = server::QueryService::start(config);
  if (!service) {
    return propagate(service);
  }
  log_info("answering questions for the primary server {}; API on {}://{}", config.primary_server,
           config.certificate.empty() ? "http" : "https", (*service)->address());
  int signal_number = 0;
  while (::sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) {
    reload(**service, options);
  }
  log_info("stopping");
  (*service)->stop();
  return {};
}

// Until no process writes the data directory. False: a signal has ended it before.
Result<bool> wait_as_standby(const config::ServerConfig& config, const sigset_t& signals) {
  constexpr timespec kBetweenLooks{.tv_sec = 1, .tv_nsec = 0};
  const auto standby = server::Standby::start(config);
  if (!standby) {
    return propagate(standby);
  }
  log_info("standby for {}; health on {}://{}", config.data_dir,
           config.certificate.empty() ? "http" : "https", (*standby)->address());
  while (!(*standby)->may_take_over()) {
    const int signal_number = ::sigtimedwait(&signals, nullptr, &kBetweenLooks);
    if (signal_number == SIGINT || signal_number == SIGTERM) {
      log_info("stopping");
      return false;
    }
    if (signal_number == SIGHUP) {
      log_info("a standby reads its configuration when it starts: restart it");
    }
  }
  log_info("no process writes {}: taking over", config.data_dir);
  return true;
}

// Null: a signal has ended a standby before.
Result<std::unique_ptr<server::Server>> start_server(const config::ServerConfig& config, bool is_standby,
                                                     const sigset_t& signals) {
  while (true) {
    if (is_standby) {
      const auto may_start = wait_as_standby(config, signals);
      if (!may_start || !*may_start) {
        return may_start ? Result<std::unique_ptr<server::Server>>(nullptr) : propagate(may_start);
      }
    }
    auto server = server::Server::start(config, table_worker(),
                                        {.profiles = profile_worker(), .annotations = annotate_worker()},
                                        [] { ::kill(::getpid(), SIGTERM); });
    // Of two that wait one is faster; the other waits again.
    if (server || !is_standby || server::Standby::may_start(config)) {
      return server;
    }
    log_info("not started: {}", server.error().text());
  }
}

// Without destructors, which would build rows in a directory that is another server's.
[[noreturn]] void end_at_once(const Error& error) {
  log_error("{}", error.text());
  ::_exit(kExitFailed);
}

}  // namespace

Status run_server(const ServerOptions& options) {
  if (options.is_standby && options.role != "server") {
    return with_field(fail(ErrorCode::kInvalid, "a {} has no standby: run several of them", options.role),
                      "--standby");
  }
  const auto loaded = read_config(options);
  if (!loaded) {
    return propagate(loaded);
  }
  const sigset_t signals = block_signals();
  if (options.role == "symbolizer") {
    return run_symbolizer(*loaded, signals);
  }
  if (options.role == "ingest") {
    return run_ingest(*loaded, signals);
  }
  if (options.role == "query") {
    return run_query(*loaded, options, signals);
  }
  server::reserve_little_memory();
  auto server = start_server(*loaded, options.is_standby, signals);
  if (!server || *server == nullptr) {
    return server ? Status() : propagate(server);
  }
  const char* const scheme = loaded->certificate.empty() ? "http" : "https";
  log_info("data in {}; API on {}://{}, daemons on {}://{}", loaded->data_dir, scheme, (*server)->address(),
           scheme, (*server)->fleet_address());
  int signal_number = 0;
  while (::sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) {
    reload(**server, options);
  }
  if (const auto taken_over = (*server)->taken_over()) {
    end_at_once(*taken_over);
  }
  log_info("stopping");
  (*server)->stop();
  return {};
}

}  // namespace plimsoll::cli
