#include <unistd.h>

#include <csignal>
#include <ctime>
#include <functional>
#include <memory>
#include <string_view>

#include "base/log.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/symbol_tables.h"
#include "config/server_config.h"
#include "server/ingest_service.h"
#include "server/memory/memory.h"
#include "server/query_service.h"
#include "server/server.h"
#include "server/server_role.h"
#include "server/standby.h"
#include "server/symbolizer_service.h"

namespace plimsoll::cli {

namespace {

using config::ServerConfig;

Result<ServerConfig> read_config(const ServerOptions& options) {
  config::LoadInputs inputs;
  if (!options.config_path.empty()) {
    inputs.path = options.config_path;
  }
  inputs.flags = options.flags;
  auto loaded = config::load_server_config(inputs);
  return loaded ? std::move(loaded) : propagate(loaded, "reading the configuration");
}

const char* scheme_of(const ServerConfig& config) {
  return config.certificate.empty() ? "http" : "https";
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

// What SIGHUP does: what has been reloaded.
using Reload = std::function<Result<std::string_view>()>;

// Of what takes over tokens of a new configuration.
template <typename Reloaded>
Reload reload_tokens(Reloaded& reloaded, const ServerOptions& options) {
  return [&reloaded, &options]() -> Result<std::string_view> {
    const auto config = read_config(options);
    const Status done = config ? reloaded.reload(*config) : propagate(config);
    return done ? Result<std::string_view>("tokens and certificates") : propagate(done);
  };
}

Result<std::string_view> refuse_reload(std::string_view role) {
  return with_hint(fail(ErrorCode::kUnsupported, "a {} reads its configuration when it starts", role),
                   "restart it");
}

void log_reload(const Reload& reload) {
  if (const auto reloaded = reload()) {
    log_info("reloaded {}; other keys apply after a restart", *reloaded);
  } else {
    log_error("reloading: {}", reloaded.error().text());
  }
}

// Until SIGINT or SIGTERM.
void wait_for_end(const sigset_t& signals, const Reload& reload) {
  int signal_number = 0;
  while (::sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) {
    log_reload(reload);
  }
}

template <typename Service>
Status run_until_end(Service& service, const sigset_t& signals, const Reload& reload) {
  wait_for_end(signals, reload);
  log_info("stopping");
  service.stop();
  return {};
}

Status run_symbolizer(const ServerConfig& config, const sigset_t& signals) {
  const auto service = server::SymbolizerService::start(config, table_worker());
  if (!service) {
    return propagate(service);
  }
  log_info("making symbol tables for {}; health on http://{}", config.symbolizer_server,
           (*service)->address());
  return run_until_end(**service, signals, [] { return refuse_reload("symbolizer"); });
}

Status run_ingest(const ServerConfig& config, const sigset_t& signals) {
  const auto service = server::IngestService::start(config);
  if (!service) {
    return propagate(service);
  }
  log_info("forwarding what daemons send to {}; daemons on {}://{}, health on {}://{}", config.ingest_server,
           scheme_of(config), (*service)->fleet_address(), scheme_of(config), (*service)->address());
  return run_until_end(**service, signals, [&service]() -> Result<std::string_view> {
    const Status done = (*service)->reload();
    return done ? Result<std::string_view>("certificates") : propagate(done);
  });
}

Status run_query(const ServerConfig& config, const ServerOptions& options, const sigset_t& signals) {
  const auto service = server::QueryService::start(config);
  if (!service) {
    return propagate(service);
  }
  log_info("answering questions for the primary server {}; API on {}://{}", config.primary_server,
           scheme_of(config), (*service)->address());
  return run_until_end(**service, signals, reload_tokens(**service, options));
}

// Until no process writes the data directory. False: a signal has ended it before.
Result<bool> wait_as_standby(const ServerConfig& config, const sigset_t& signals) {
  constexpr timespec kBetweenLooks{.tv_sec = 1, .tv_nsec = 0};
  const auto standby = server::Standby::start(config);
  if (!standby) {
    return propagate(standby);
  }
  log_info("standby for {}; health on {}://{}", config.data_dir, scheme_of(config), (*standby)->address());
  while (!(*standby)->may_take_over()) {
    const int signal_number = ::sigtimedwait(&signals, nullptr, &kBetweenLooks);
    if (signal_number == SIGINT || signal_number == SIGTERM) {
      log_info("stopping");
      return false;
    }
    if (signal_number == SIGHUP) {
      log_reload([] { return refuse_reload("standby"); });
    }
  }
  log_info("no process writes {}: taking over", config.data_dir);
  return true;
}

// Null: a signal has ended a standby before.
Result<std::unique_ptr<server::Server>> start_server(const ServerConfig& config, bool is_standby,
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

Status run_writing_server(const ServerConfig& config, const ServerOptions& options, const sigset_t& signals) {
  const auto server = start_server(config, options.is_standby, signals);
  if (!server || *server == nullptr) {
    return server ? Status() : propagate(server);
  }
  log_info("data in {}; API on {}://{}, daemons on {}://{}", config.data_dir, scheme_of(config),
           (*server)->address(), scheme_of(config), (*server)->fleet_address());
  wait_for_end(signals, reload_tokens(**server, options));
  if (const auto taken_over = (*server)->taken_over()) {
    end_at_once(*taken_over);
  }
  log_info("stopping");
  (*server)->stop();
  return {};
}

Status run_role(server::ServerRole role, const ServerConfig& config, const ServerOptions& options,
                const sigset_t& signals) {
  switch (role) {
    case server::ServerRole::kSymbolizer:
      return run_symbolizer(config, signals);
    case server::ServerRole::kIngest:
      return run_ingest(config, signals);
    case server::ServerRole::kQuery:
      return run_query(config, options, signals);
    case server::ServerRole::kServer:
      break;
  }
  return run_writing_server(config, options, signals);
}

}  // namespace

Status run_server(const ServerOptions& options) {
  const auto role = server::parse_server_role(options.role);
  if (!role) {
    return with_field(propagate(role), "--role");
  }
  if (options.is_standby && *role != server::ServerRole::kServer) {
    return with_field(fail(ErrorCode::kInvalid, "a {} has no standby: run several of them", options.role),
                      "--standby");
  }
  const auto config = read_config(options);
  if (!config) {
    return propagate(config);
  }
  const sigset_t signals = block_signals();
  // A symbolizer itself takes little: its tables are made by processes of their own.
  if (*role != server::ServerRole::kSymbolizer) {
    server::reserve_little_memory();
  }
  return run_role(*role, *config, options, signals);
}

}  // namespace plimsoll::cli
